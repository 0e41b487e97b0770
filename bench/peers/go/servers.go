// SPDX-License-Identifier: MIT

// The servers. They listen on a port of 127.0.0.1 that the system chooses, say "port N" in one line,
// and serve until they are ended.

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
)

func listen() net.Listener {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		die(1, "%v", err)
	}
	fmt.Fprintf(os.Stdout, "port %d\n", listener.Addr().(*net.TCPAddr).Port)
	return listener
}

func echo(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		if _, err = conn.Write(buf[:n]); err != nil {
			return
		}
	}
}

// serveEcho has so many goroutines beside the connections' that compute and call nothing.
func serveEcho(hogs int) {
	listener := listen()
	for i := 0; i < hogs; i++ {
		go func() {
			for {
			}
		}()
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			die(1, "%v", err)
		}
		go echo(conn)
	}
}

// The parser of bench/peers/http.h.

const (
	httpIn       = 4096
	httpShortest = len("GET / HTTP/1.0\r\n\r\n")
	httpAnswer   = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
)

var (
	httpGet     = []byte("GET /")
	httpVersion = []byte(" HTTP/1.")
	httpClose   = []byte("Connection: close")
)

// httpRequest returns the length of the request at the beginning of text, 0 if it is not complete, -1
// if it is none; and whether it is the last.
func httpRequest(text []byte) (length int, last bool) {
	at := 0
	for {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		if n == 0 || text[at+n-1] != '\r' {
			return -1, false
		}
		line := text[at : at+n-1]
		switch {
		case at == 0:
			if len(line) < httpShortest-4 || !bytes.HasPrefix(line, httpGet) ||
				!bytes.Equal(line[len(line)-9:len(line)-1], httpVersion) {
				return -1, false
			}
		case len(line) == 0:
			return at + n + 1, last
		case len(line) == len(httpClose) && bytes.EqualFold(line, httpClose):
			last = true
		}
		at += n + 1
	}
	if len(text) == httpIn {
		return -1, false
	}
	return 0, false
}

func httpConn(conn net.Conn) {
	defer conn.Close()
	in := make([]byte, httpIn)
	var out []byte
	have, last := 0, false
	for !last {
		n, err := conn.Read(in[have:])
		if err != nil {
			return
		}
		have += n
		from := 0
		out = out[:0]
		for from < have && !last {
			n, last = httpRequest(in[from:have])
			if n < 0 {
				return
			}
			if n == 0 {
				break
			}
			out = append(out, httpAnswer...)
			from += n
		}
		have = copy(in, in[from:have])
		if len(out) > 0 {
			if _, err = conn.Write(out); err != nil {
				return
			}
		}
	}
}

func serveHTTP() {
	listener := listen()
	for {
		conn, err := listener.Accept()
		if err != nil {
			die(1, "%v", err)
		}
		go httpConn(conn)
	}
}

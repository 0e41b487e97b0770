// SPDX-License-Identifier: MIT

// The servers. They listen on a port of 127.0.0.1 that the system chooses, say "port N" in one line,
// and serve until they are ended.

package main

import (
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

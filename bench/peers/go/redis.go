// SPDX-License-Identifier: MIT

// A cache that speaks the protocol of Redis: a goroutine for each client, buffered readers and writers,
// answers written when no more requests are buffered, 64 maps with a mutex each. It knows what
// redis-benchmark asks for: GET, SET (with EX and PX), INCR, MSET, PING, CONFIG.

package main

import (
	"bufio"
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

type entry struct {
	value   []byte
	expires int64 // nanoseconds; 0: never
}

type shard struct {
	sync.Mutex
	entries map[string]entry
	_       [48]byte // one cache line each
}

type cache struct {
	seed   maphash.Seed
	shards [64]shard
}

var errProtocol = errors.New("protocol error")

func newCache() *cache {
	c := &cache{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].entries = make(map[string]entry)
	}
	return c
}

func (c *cache) shard(key []byte) *shard {
	return &c.shards[maphash.Bytes(c.seed, key)%uint64(len(c.shards))]
}

// get copies the value to the end of into.
func (c *cache) get(key, into []byte) ([]byte, bool) {
	s := c.shard(key)
	s.Lock()
	defer s.Unlock()
	e, ok := s.entries[string(key)]
	if ok && e.expires != 0 && e.expires <= time.Now().UnixNano() {
		delete(s.entries, string(key))
		ok = false
	}
	if ok {
		into = append(into, e.value...)
	}
	return into, ok
}

func (c *cache) set(key, value []byte, expires int64) {
	s := c.shard(key)
	s.Lock()
	defer s.Unlock()
	s.entries[string(key)] = entry{append([]byte(nil), value...), expires}
}

func (c *cache) incr(key []byte) (int64, error) {
	s := c.shard(key)
	s.Lock()
	defer s.Unlock()
	e, ok := s.entries[string(key)]
	if !ok {
		e.value = []byte("0")
	}
	n, err := strconv.ParseInt(string(e.value), 10, 64)
	if err == nil {
		n++
		e.value = strconv.AppendInt(e.value[:0], n, 10)
		s.entries[string(key)] = e
	}
	return n, err
}

type redisClient struct {
	cache *cache
	r     *bufio.Reader
	w     *bufio.Writer
	args  [][]byte
	value []byte
}

// number reads a line such as "*3".
func (c *redisClient) number(kind byte) (int, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) < 2 || line[0] != kind {
		return 0, errProtocol
	}
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 || n > 512<<20 {
		return 0, errProtocol
	}
	return n, nil
}

// request reads a request into args, whose memory is used again.
func (c *redisClient) request() error {
	count, err := c.number('*')
	if err != nil {
		return err
	}
	c.args = c.args[:0]
	for i := 0; i < count; i++ {
		n, err := c.number('$')
		if err != nil {
			return err
		}
		if i < cap(c.args) {
			c.args = c.args[:i+1]
		} else {
			c.args = append(c.args, nil)
		}
		if cap(c.args[i]) < n {
			c.args[i] = make([]byte, n)
		}
		c.args[i] = c.args[i][:n]
		if _, err = io.ReadFull(c.r, c.args[i]); err != nil {
			return err
		}
		if _, err = c.r.Discard(2); err != nil {
			return err
		}
	}
	return nil
}

func (c *redisClient) sayNumber(kind byte, n int64) {
	c.w.WriteByte(kind)
	c.w.Write(strconv.AppendInt(c.w.AvailableBuffer(), n, 10))
	c.w.WriteString("\r\n")
}

func (c *redisClient) sayString(text []byte) {
	c.sayNumber('$', int64(len(text)))
	c.w.Write(text)
	c.w.WriteString("\r\n")
}

func (c *redisClient) set() {
	var expires int64
	if len(c.args) == 5 {
		unit := time.Second
		if bytes.EqualFold(c.args[3], []byte("PX")) {
			unit = time.Millisecond
		}
		n, err := strconv.ParseInt(string(c.args[4]), 10, 64)
		if err != nil {
			c.w.WriteString("-ERR value is not an integer or out of range\r\n")
			return
		}
		expires = time.Now().UnixNano() + n*int64(unit)
	}
	c.cache.set(c.args[1], c.args[2], expires)
	c.w.WriteString("+OK\r\n")
}

func (c *redisClient) carryOut() {
	var ok bool
	var name [16]byte
	upper := name[:copy(name[:], c.args[0])]
	for i, b := range upper {
		if 'a' <= b && b <= 'z' {
			upper[i] = b - 'a' + 'A'
		}
	}
	switch command := string(upper); {
	case command == "GET" && len(c.args) == 2:
		if c.value, ok = c.cache.get(c.args[1], c.value[:0]); ok {
			c.sayString(c.value)
		} else {
			c.w.WriteString("$-1\r\n")
		}
	case command == "SET" && (len(c.args) == 3 || len(c.args) == 5):
		c.set()
	case command == "INCR" && len(c.args) == 2:
		if n, err := c.cache.incr(c.args[1]); err == nil {
			c.sayNumber(':', n)
		} else {
			c.w.WriteString("-ERR value is not an integer or out of range\r\n")
		}
	case command == "MSET" && len(c.args)%2 == 1:
		for i := 1; i < len(c.args); i += 2 {
			c.cache.set(c.args[i], c.args[i+1], 0)
		}
		c.w.WriteString("+OK\r\n")
	case command == "PING":
		c.w.WriteString("+PONG\r\n")
	case command == "CONFIG" && len(c.args) == 3:
		c.sayNumber('*', 2)
		c.sayString(c.args[2])
		c.sayString(nil)
	default:
		c.w.WriteString("-ERR unknown command, or wrong number of arguments\r\n")
	}
}

func (c *cache) serve(conn net.Conn) {
	defer conn.Close()
	client := redisClient{cache: c, r: bufio.NewReaderSize(conn, 16<<10),
		w: bufio.NewWriterSize(conn, 16<<10)}
	for client.request() == nil {
		if len(client.args) > 0 {
			client.carryOut()
		}
		if client.r.Buffered() == 0 && client.w.Flush() != nil {
			return
		}
	}
}

func serveRedis() {
	listener := listen()
	c := newCache()
	for {
		conn, err := listener.Accept()
		if err != nil {
			die(1, "%v", err)
		}
		go c.serve(conn)
	}
}

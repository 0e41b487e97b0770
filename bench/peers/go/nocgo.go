// SPDX-License-Identifier: MIT

//go:build !cgo

package main

import (
	"fmt"
	"os"
)

// missing ends the program with the status that bench/compare reports as a missing row.
func missing() {
	fmt.Fprintln(os.Stderr, "no cgo")
	os.Exit(77)
}

func benchBlockThroughput() { missing() }
func benchBlocking()        { missing() }

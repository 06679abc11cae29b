package main

import (
	"bytes"
	"io"
)

// indented is how a line begins that is left out.
var indented = []byte("    ")

// outline passes on the lines that are not deeply indented. A last line
// without an end is not passed on; no CLI prints one.
type outline struct {
	out  io.Writer
	rest []byte // a line whose end has not come yet
}

// Write takes any part of the text. It fails only where out does.
func (o *outline) Write(text []byte) (int, error) {
	o.rest = append(o.rest, text...)
	for {
		line, rest, whole := bytes.Cut(o.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if !bytes.HasPrefix(line, indented) {
			if _, err := o.out.Write(append(bytes.Clone(line), '\n')); err != nil {
				return 0, err
			}
		}
		o.rest = rest
	}
}

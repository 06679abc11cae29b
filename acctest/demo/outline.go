package main

import (
	"bytes"
	"io"
	"regexp"
)

// gistPattern matches the lines that show progress, or what will be done to a
// resource, and whole sentences.
const gistPattern = `(Creat|Modify|Destroy)ing[.]|ions? complete|^[A-Z].*[.]$| will be `

var gistLine = regexp.MustCompile(gistPattern)

// outline passes on the lines that match gistPattern. A last line without its
// end is left out.
type outline struct {
	out  io.Writer
	rest []byte // a line without its end so far
}

// Write accepts any part of the text. It fails only where out fails.
func (o *outline) Write(text []byte) (int, error) {
	o.rest = append(o.rest, text...)
	for {
		line, rest, whole := bytes.Cut(o.rest, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if gistLine.Match(line) {
			if _, err := o.out.Write(append(bytes.Clone(line), '\n')); err != nil {
				return 0, err
			}
		}
		o.rest = rest
	}
}

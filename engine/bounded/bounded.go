// Package bounded reads JSON answers of servers that may be broken or hostile.
//
// A limit on bytes alone is not enough: 15 KB of gzip can be 14 MiB of "{},", and each of these
// objects becomes a struct of hundreds of bytes. So it also counts the values of an answer,
// before anything is decoded.
package bounded

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is wrapped by the error of an answer beyond its limits.
var ErrTooLarge = errors.New("the answer is larger than any real one")

// Limits are the limits of one answer. All of them must be set.
type Limits struct {
	Bytes   int // after decompression
	Objects int // objects and lists, however deep
	Values  int // elements of lists and members of objects, however deep
}

// ReadAll reads a whole JSON answer. It stops beyond the limits, with an error that wraps
// ErrTooLarge. It does not check that the answer is JSON.
func ReadAll(r io.Reader, limits Limits) ([]byte, error) {
	counted := &counter{limits: limits}
	body, err := io.ReadAll(io.TeeReader(io.LimitReader(r, int64(limits.Bytes)+1), counted))
	if err == nil && len(body) > limits.Bytes {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limits.Bytes)
	}
	return body, err
}

// counter counts the objects and values of a JSON text, outside of its strings.
type counter struct {
	limits          Limits
	objects, values int
	quoted, escaped bool
}

// Write implements io.Writer.
func (c *counter) Write(text []byte) (int, error) {
	for _, b := range text {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted && b == '\\':
			c.escaped = true
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
		case b == '{' || b == '[':
			c.objects++
		case b == ',':
			c.values++
		}
	}
	switch {
	case c.objects > c.limits.Objects:
		return 0, fmt.Errorf("%w: more than %d objects", ErrTooLarge, c.limits.Objects)
	case c.values > c.limits.Values:
		return 0, fmt.Errorf("%w: more than %d values", ErrTooLarge, c.limits.Values)
	}
	return len(text), nil
}

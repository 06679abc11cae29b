package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxElements bounds a list of MAAS. The largest sites have some thousands of machines.
const maxElements = 20_000

var errNoList = errors.New("it is not a list")

// Elements is a list of MAAS that is decoded element by element. An element that cannot be
// read does not affect the others.
type Elements[T any] struct {
	List []T
	// Unreadable says what could not be read, by index in List. The other fields of such an
	// element are as MAAS sent them.
	Unreadable map[int]error
}

// elementList is Elements of any type.
type elementList interface {
	json.Unmarshaler
	isElementList()
}

func (e *Elements[T]) isElementList() {}

// UnmarshalJSON implements json.Unmarshaler. It checks the whole text, so it may be called
// without package json.
func (e *Elements[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return errNoList
	}
	for d.More() {
		if len(e.List) == maxElements {
			return fmt.Errorf("more than %d elements", maxElements)
		}
		var element T
		err := d.Decode(&element)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			e.noteUnreadable(fmt.Errorf("%s is %s", wrong.Field, wrong.Value))
		} else if err != nil {
			return err
		}
		e.List = append(e.List, element)
	}
	if _, err := d.Token(); err != nil { // the list's end
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errNoList
	}
	return nil
}

// noteUnreadable notes what is wrong with the next element.
func (e *Elements[T]) noteUnreadable(why error) {
	if e.Unreadable == nil {
		e.Unreadable = map[int]error{}
	}
	e.Unreadable[len(e.List)] = why
}

// Readable iterates over the elements that could be read completely.
func (e *Elements[T]) Readable() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for n, element := range e.List {
			if e.Unreadable[n] == nil && !yield(n, element) {
				return
			}
		}
	}
}

package cloudinit

import (
	"fmt"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// FieldError says that a setting of a Host cannot work.
type FieldError struct {
	Field   fieldpath.Path // such as storage_pools.default.driver
	Message string         // what is wrong, without a full stop
	Hint    string         // the way out
}

// Error returns the field, the message and the hint in one line.
func (e *FieldError) Error() string {
	return errorLine(e.Field.String(), e.Message, e.Hint)
}

// MergeError says that user-data cannot be combined with other user-data.
type MergeError struct {
	Document int    // which of the documents given to Merge, from 1; ours is 0
	Part     string // the part's file name or number, if there are several
	Message  string // what is wrong, without a full stop
	Hint     string // the way out
}

// Error returns the place, the message and the hint in one line.
func (e *MergeError) Error() string {
	return errorLine(describePart(e.Document, e.Part), e.Message, e.Hint)
}

// describePart names a part for people.
func describePart(document int, part string) string {
	where := "the host's own user-data"
	if document > 0 {
		where = fmt.Sprintf("user-data %d", document)
	}
	if part != "" {
		where += ", part " + part
	}
	return where
}

func errorLine(where, message, hint string) string {
	text := where + ": " + message
	if hint != "" {
		text += "; " + hint
	}
	return text
}

// FieldErrors lists the FieldErrors in an error of Validate, Preseed or Render, in the
// order of the fields.
func FieldErrors(err error) []*FieldError {
	switch e := err.(type) {
	case *FieldError:
		return []*FieldError{e}
	case interface{ Unwrap() error }:
		return FieldErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		var found []*FieldError
		for _, each := range e.Unwrap() {
			found = append(found, FieldErrors(each)...)
		}
		return found
	}
	return nil
}

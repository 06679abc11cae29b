package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// ProtocolNumber is increased with each change in what the operations mean.
const ProtocolNumber = 1

// ProtocolVersion is the text of HeaderProtocol: the protocol number, and a hash of the fields
// of Call and Answer. So a build with other fields is noticed even if nobody increased the
// number.
var ProtocolVersion = sync.OnceValue(func() string {
	var text strings.Builder
	writeShape(&text, reflect.TypeFor[Call](), nil)
	writeShape(&text, reflect.TypeFor[Answer](), nil)
	sum := sha256.Sum256([]byte(text.String()))
	return fmt.Sprintf("%d %s", ProtocolNumber, hex.EncodeToString(sum[:6]))
})

// writeShape writes the fields of a type, and those of the types of its fields.
func writeShape(to *strings.Builder, t reflect.Type, within []reflect.Type) {
	to.WriteString(t.Kind().String())
	for _, outer := range within {
		if outer == t {
			return
		}
	}
	within = append(within, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		writeShape(to, t.Elem(), within)
	case reflect.Map:
		writeShape(to, t.Key(), within)
		writeShape(to, t.Elem(), within)
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[json.Marshaler]()) {
			to.WriteString(t.Name())
			return
		}
		for i := range t.NumField() {
			field := t.Field(i)
			fmt.Fprintf(to, " %s(%s)=", field.Name, field.Tag.Get("json"))
			writeShape(to, field.Type, within)
		}
	}
}

// ProtocolDifference says how the other side's protocol differs from ours.
type ProtocolDifference int

// The differences.
const (
	SameProtocol  ProtocolDifference = iota
	NewerProtocol                    // the other side's number is higher
	OlderProtocol                    // the other side's number is lower
	OtherFields                      // the numbers are equal, but the fields differ
	NoProtocol                       // the other side is no ledger
)

// CompareProtocol compares the HeaderProtocol of the other side with ours.
func CompareProtocol(other string) ProtocolDifference {
	if other == ProtocolVersion() {
		return SameProtocol
	}
	var number int
	var sum string
	if n, err := fmt.Sscanf(other, "%d %s", &number, &sum); n != 2 || err != nil {
		return NoProtocol
	}
	switch {
	case number > ProtocolNumber:
		return NewerProtocol
	case number < ProtocolNumber:
		return OlderProtocol
	}
	return OtherFields
}

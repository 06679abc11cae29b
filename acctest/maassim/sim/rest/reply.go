package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strconv"
)

// Object is a JSON object of an answer.
type Object = map[string]any

// Float is a number that MAAS writes with a fraction, even a whole one.
type Float float64

// MarshalJSON writes 4 as 4.0.
func (f Float) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(f), 'f', -1, 64)
	if !bytes.ContainsRune([]byte(text), '.') {
		text += ".0"
	}
	return []byte(text), nil
}

// Reply is an answer of MAAS.
type Reply struct {
	Status         int
	Kind           string // content type
	Body           []byte
	Header         http.Header
	MachineObjects int  // number of machine objects in the body
	Lost           bool // the reply is lost on its way
}

// Content types of answers.
const (
	TypeJSON = "application/json; charset=utf-8"
	TypeText = "text/plain; charset=utf-8"
	TypeHTML = "text/html; charset=utf-8"
	// TypePlain is the type of the API library's own answers, which have no character set.
	TypePlain = "text/plain"
)

// APIHeader is the header of the API's answers.
func APIHeader() http.Header {
	return http.Header{
		"Vary":            {"Authorization, Cookie"},
		"X-Frame-Options": {"DENY"},
		"X-Maas-Api-Hash": {"29b8898cd6164c9b0adae16fe79c9932fe40e145"},
	}
}

// ErrHeader is the header of answers by MAAS's error handling around the API.
func ErrHeader() http.Header {
	return http.Header{"Vary": {"Cookie"}, "X-Frame-Options": {"DENY"}}
}

// OKReply is 200 with a JSON body.
func OKReply(body any) Reply {
	return Reply{Status: http.StatusOK, Kind: TypeJSON, Body: Encode(body), Header: APIHeader()}
}

// CreatedReply is 201 with a JSON body.
func CreatedReply(body any) Reply {
	rep := OKReply(body)
	rep.Status = http.StatusCreated
	return rep
}

// DeletedReply is 204: MAAS's answer to every successful delete.
func DeletedReply() Reply {
	return Reply{Status: http.StatusNoContent, Kind: TypePlain, Header: APIHeader()}
}

// ErrorReply is an error with a plain text message.
func ErrorReply(status int, text string) Reply {
	return Reply{Status: status, Kind: TypeText, Body: []byte(text), Header: ErrHeader()}
}

// ConflictReply is 409 with a message.
func ConflictReply(text string) Reply { return ErrorReply(http.StatusConflict, text) }

// UnavailableReply is 503 with a message.
func UnavailableReply(text string) Reply { return ErrorReply(http.StatusServiceUnavailable, text) }

// InternalErrorReply is 500 with a message: an error inside MAAS.
func InternalErrorReply(text string) Reply { return ErrorReply(http.StatusInternalServerError, text) }

// BadTextReply is 400 with a message, from a check outside of MAAS's forms.
func BadTextReply(text string) Reply { return ErrorReply(http.StatusBadRequest, text) }

// ForbiddenReply is 403 without a body: the caller lacks a permission on the object.
func ForbiddenReply() Reply { return ErrorReply(http.StatusForbidden, "") }

// NoObjectReply is 404 for an object: "No Machine matches the given query."
func NoObjectReply(kind string) Reply {
	return Reply{Status: http.StatusNotFound, Kind: TypePlain, Header: APIHeader(),
		Body: []byte("No " + kind + " matches the given query.")}
}

// RetriesExhaustedReply is MAAS's answer when its database keeps refusing a value, such as
// a duplicate of a unique one. MAAS takes each refusal for a conflict of transactions and
// retries (maasserver/utils/views.py, HttpResponseConflict).
func RetriesExhaustedReply() Reply {
	rep := Reply{Status: http.StatusConflict, Kind: TypeHTML, Header: ErrHeader(),
		Body: []byte("<!DOCTYPE html><title>Error: Conflict Error</title><h2>Conflict error. Try your request again, as it will most likely succeed.</h2>")}
	rep.Header.Set("Retry-After", "0")
	return rep
}

// BadFormReply is 400 with the messages of a form, by field.
func BadFormReply(errs FormErrors) Reply {
	return Reply{Status: http.StatusBadRequest, Kind: TypeJSON, Body: Encode(errs), Header: ErrHeader()}
}

// BadModelReply is 400 with the messages of a model. MAAS's error handling answers it,
// without a character set.
func BadModelReply(errs FormErrors) Reply {
	rep := BadFormReply(errs)
	rep.Kind = "application/json"
	return rep
}

// BadFieldReply is BadFormReply with one message.
func BadFieldReply(field, message string) Reply { return BadFormReply(FormErrors{field: {message}}) }

// BadSentenceReply is 400 with one message that is not in a list.
func BadSentenceReply(field, message string) Reply {
	return Reply{Status: http.StatusBadRequest, Kind: TypeJSON, Body: Encode(map[string]string{field: message}), Header: ErrHeader()}
}

// FormErrors are messages by field of a form. "__all__" is the whole form.
type FormErrors map[string][]string

// Add adds a message to a field.
func (e FormErrors) Add(field, message string) { e[field] = append(e[field], message) }

// Encode writes JSON without HTML escapes.
func Encode(body any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		panic("sim: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// SortedValues lists a map's values by key.
func SortedValues[K int | string, V any](m map[K]V) []V {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	out := make([]V, 0, len(m))
	for _, k := range keys {
		out = append(out, m[k])
	}
	return out
}

// APIRoot is the path of MAAS's API.
const APIRoot = "/MAAS/api/2.0/"

// NonNilList is a JSON array: [] instead of null.
func NonNilList[T any](values []T) []T {
	if values == nil {
		return []T{}
	}
	return values
}

// URI is the resource_uri of an object.
func URI(kind string, id any) string {
	return APIRoot + kind + "/" + url.PathEscape(fmt.Sprint(id)) + "/"
}

// TextOrNull is null for an empty text.
func TextOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// IDOrNull is null for 0.
func IDOrNull(id int) any {
	if id == 0 {
		return nil
	}
	return id
}

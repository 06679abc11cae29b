package sim

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sort"
	"strconv"
)

// object is a JSON object of an answer.
type object = map[string]any

// float is a number that MAAS writes with a fraction even if it is whole.
type float float64

// MarshalJSON writes 4 as 4.0.
func (f float) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(f), 'f', -1, 64)
	if !bytes.ContainsRune([]byte(text), '.') {
		text += ".0"
	}
	return []byte(text), nil
}

// reply is an answer of MAAS.
type reply struct {
	status  int
	kind    string // content type
	body    []byte
	header  http.Header
	objects int  // machine objects in the body
	lost    bool // on its way
}

const (
	typeJSON = "application/json; charset=utf-8"
	typeText = "text/plain; charset=utf-8"
	typeHTML = "text/html; charset=utf-8"
	// typePlain is what the API library itself says, without a character set.
	typePlain = "text/plain"
)

// apiHeader is on answers of the API itself, errHeader on those of MAAS's
// error handling around it.
func apiHeader() http.Header {
	return http.Header{
		"Vary":            {"Authorization, Cookie"},
		"X-Frame-Options": {"DENY"},
		"X-Maas-Api-Hash": {"29b8898cd6164c9b0adae16fe79c9932fe40e145"},
	}
}

func errHeader() http.Header {
	return http.Header{"Vary": {"Cookie"}, "X-Frame-Options": {"DENY"}}
}

// ok is 200 with a JSON body.
func ok(body any) reply {
	return reply{status: http.StatusOK, kind: typeJSON, body: encode(body), header: apiHeader()}
}

// deleted is 204: MAAS's answer to every successful delete.
func deleted() reply {
	return reply{status: http.StatusNoContent, kind: typePlain, header: apiHeader()}
}

// refused is an error with a sentence as plain text.
func refused(status int, text string) reply {
	return reply{status: status, kind: typeText, body: []byte(text), header: errHeader()}
}

func conflict(text string) reply    { return refused(http.StatusConflict, text) }
func unavailable(text string) reply { return refused(http.StatusServiceUnavailable, text) }

// badText is 400 with a sentence: checks outside MAAS's forms.
func badText(text string) reply { return refused(http.StatusBadRequest, text) }

// forbidden is 403 without a body: no permission on this object.
func forbidden() reply { return refused(http.StatusForbidden, "") }

// noObject is 404 for an object: "No Machine matches the given query."
func noObject(kind string) reply {
	return reply{status: http.StatusNotFound, kind: typePlain, header: apiHeader(),
		body: []byte("No " + kind + " matches the given query.")}
}

// badForm is 400 with the messages of a form, by field.
func badForm(errs formErrors) reply {
	return reply{status: http.StatusBadRequest, kind: typeJSON, body: encode(errs), header: errHeader()}
}

// badField is badForm with one message.
func badField(field, message string) reply { return badForm(formErrors{field: {message}}) }

// formErrors are messages by field of a form; "__all__" is the form itself.
type formErrors map[string][]string

func (e formErrors) add(field, message string) { e[field] = append(e[field], message) }

// encode writes JSON without HTML escapes.
func encode(body any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(body); err != nil {
		panic("sim: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// sorted lists a map's values by key.
func sorted[K int | string, V any](m map[K]V) []V {
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

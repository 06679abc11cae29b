package api

import (
	"encoding/json"
	"mime"
	"net/http"
)

// answer is what MAAS sent, or a proxy before it.
type answer struct {
	status int
	header http.Header
	body   []byte // nil for a 401, which may repeat the token's secret
}

// mediaType returns the media type without parameters; empty if there is none.
func (a *answer) mediaType() string {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// decode decodes a JSON answer. If that fails after a POST, it is unclear what the POST
// did.
func (a *answer) decode(r *Request, into any) error {
	if err := unmarshal(a.body, into); err != nil {
		e := UnreadableError(r, "it is not the JSON that was expected")
		e.Status, e.Unclear = a.status, !r.isIdempotent()
		return e
	}
	return nil
}

// unmarshal is json.Unmarshal, but lets a list of Elements read its text itself. Package json
// would first read the whole text twice: to check it, and to find its end.
func unmarshal(text []byte, into any) error {
	if list, ok := into.(elementList); ok {
		return list.UnmarshalJSON(text)
	}
	return json.Unmarshal(text, into)
}

// UnreadableError is the error of an answer, or a part of it, that differs from MAAS's API.
func UnreadableError(r *Request, why string) *Error {
	e := NewError(r, http.StatusOK, "MAAS's answer cannot be read: "+Shorten(why))
	e.Hint = "Something between here and MAAS may change its answers, or this is a version of MAAS that is not known here."
	return e
}

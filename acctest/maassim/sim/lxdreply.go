package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/canonical/lxd/shared/api"
)

// typeLXD is the content type of all of LXD's answers.
const typeLXD = "application/json"

func lxdReply(status int, body api.ResponseRaw) reply {
	return reply{status: status, kind: typeLXD, body: append(encode(body), '\n'), header: http.Header{}}
}

// synced is an answer that is final.
func synced(metadata any) reply {
	return lxdReply(http.StatusOK, api.ResponseRaw{Type: api.SyncResponse, Status: api.Success.String(), StatusCode: int(api.Success), Metadata: metadata})
}

// tagged is synced with an ETag of what may be changed.
func tagged(metadata any, parts ...any) reply {
	rep := synced(metadata)
	rep.header.Set("ETag", etagOf(parts...))
	return rep
}

// done is synced without anything to say.
func done() reply { return synced(struct{}{}) }

// madeAt is synced for a new object.
func madeAt(path string) reply {
	rep := done()
	rep.status = http.StatusCreated
	rep.header.Set("Location", path)
	return rep
}

// started is the answer to what an operation does.
func started(o *operation) reply {
	rep := lxdReply(http.StatusAccepted, api.ResponseRaw{
		Type: api.AsyncResponse, Status: api.OperationCreated.String(), StatusCode: int(api.OperationCreated),
		Operation: o.path(), Metadata: o.begun,
	})
	rep.header.Set("Location", o.path())
	return rep
}

// lxdRefused is an error.
func lxdRefused(status int, format string, args ...any) reply {
	return lxdReply(status, api.ResponseRaw{Type: api.ErrorResponse, Code: status, Error: fmt.Sprintf(format, args...)})
}

func lxdForbidden() reply          { return lxdRefused(http.StatusForbidden, "not authorized") }
func lxdMissing(what string) reply { return lxdRefused(http.StatusNotFound, "%s not found", what) }
func lxdTaken(what, name string) reply {
	return lxdRefused(http.StatusConflict, "%s %q already exists", what, name)
}

func lxdBad(format string, args ...any) reply {
	return lxdRefused(http.StatusBadRequest, format, args...)
}

func lxdBroken(format string, args ...any) reply {
	return lxdRefused(http.StatusInternalServerError, format, args...)
}

// lxdError is what LXD says in an operation, in its own words.
type lxdError string

// Error is the sentence.
func (e lxdError) Error() string { return string(e) }

func lxdErrorf(format string, args ...any) error { return lxdError(fmt.Sprintf(format, args...)) }

// etagOf is a hash of what may be changed, as LXD makes it.
func etagOf(parts ...any) string {
	h := sha256.New()
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			panic("sim: an ETag of what is no JSON: " + err.Error())
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// unchanged compares If-Match with what is there: nil, or 412.
func (c *lxdCall) unchanged(parts ...any) *reply {
	want := c.r.Header.Get("If-Match")
	have := etagOf(parts...)
	if want == "" || want == "*" || want == have {
		return nil
	}
	rep := lxdRefused(http.StatusPreconditionFailed, "ETag doesn't match: %s vs %s", have, want)
	return &rep
}

// read decodes the body: nil, or 400.
func (c *lxdCall) read(to any) *reply {
	if err := json.Unmarshal(c.body, to); err != nil {
		rep := lxdBad("%v", err)
		return &rep
	}
	return nil
}

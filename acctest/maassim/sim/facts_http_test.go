package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// apiKey is consumer:token:secret, as MAAS shows it.
type apiKey string

var headerSerial atomic.Int64

// header is a new OAuth1 PLAINTEXT header, because MAAS refuses a nonce that it has seen.
func (k apiKey) header(at time.Time) string {
	consumer, rest, _ := strings.Cut(string(k), ":")
	token, secret, _ := strings.Cut(rest, ":")
	return oauthHeader(consumer, token, secret, fmt.Sprintf("replay%012d", headerSerial.Add(1)), at, "PLAINTEXT")
}

func oauthHeader(consumer, token, secret, nonce string, at time.Time, method string) string {
	return fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="%s", oauth_consumer_key="%s", `+
		`oauth_token="%s", oauth_signature="%%26%s", oauth_timestamp="%d", oauth_nonce="%s"`,
		method, consumer, token, secret, at.Unix(), nonce)
}

// simResponse is an answer of the simulated MAAS.
type simResponse struct {
	Status int
	Header http.Header
	Body   []byte
}

// decodeJSON keeps numbers as written, so that 8000.0 and 8000 stay different: a client
// that reads 8000.0 into an integer fails.
func decodeJSON(content []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	return v, err
}

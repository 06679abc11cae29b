package assembly_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// call is a call of an operator, past the client and the engine.
func (r testMAAS) call(t *testing.T, method, path string, form url.Values) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+"/api/2.0/"+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(r.sim.APIKey(), ":")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", fmt.Sprintf(
		`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="%s", oauth_timestamp="%d"`,
		key[0], key[1], key[2], rand.Text(), time.Now().Unix()))
	answer, err := r.transport().RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close() //nolint:errcheck // it was read
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, body, err)
	}
	return string(body)
}

// post is an operation that an operator asks MAAS for.
func (r testMAAS) post(t *testing.T, path, op string) {
	t.Helper()
	r.call(t, "POST", path+"?op="+op, nil)
}

func base64Text(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

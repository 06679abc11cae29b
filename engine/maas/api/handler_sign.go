package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"time"
)

// newSignHandler adds an OAuth1 PLAINTEXT header. MAAS accepts a nonce only once, so each
// attempt has its own.
func newSignHandler(next handler, key apiKey, now func() time.Time) handler {
	return func(ctx context.Context, r *Request) (*answer, error) {
		signed := *r
		signed.header = map[string]string{"Authorization": key.authorization(rand.Text(), now())}
		return next(ctx, &signed)
	}
}

func (k apiKey) authorization(nonce string, at time.Time) string {
	return fmt.Sprintf(`OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", `+
		`oauth_consumer_key="%s", oauth_token="%s", oauth_signature="%%26%s", oauth_nonce="%s", oauth_timestamp="%d"`,
		url.QueryEscape(k.consumer), url.QueryEscape(k.token), url.QueryEscape(k.secret), nonce, at.Unix())
}

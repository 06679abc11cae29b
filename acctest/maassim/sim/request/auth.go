package request

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// TimestampThreshold is the greatest age of an OAuth timestamp in seconds. MAAS accepts
// timestamps of the future.
const TimestampThreshold = 300

// Authenticate finds the user of a request, or MAAS's 401: "Forbidden" for a request
// without OAuth, a message otherwise.
func Authenticate(w *world.World, c *Call, r *http.Request) (*world.User, *rest.Reply) {
	return AuthenticateAs(w, c, r, w.Users)
}

// AuthenticateAs is Authenticate among the given users.
func AuthenticateAs(w *world.World, c *Call, r *http.Request, among []*world.User) (*world.User, *rest.Reply) {
	params := OauthParams(r.Header.Get("Authorization"))
	for _, name := range []string{"oauth_consumer_key", "oauth_token", "oauth_signature_method", "oauth_signature", "oauth_timestamp", "oauth_nonce"} {
		if params[name] == "" {
			return nil, &rest.Reply{Status: http.StatusUnauthorized, Kind: rest.TypePlain, Header: rest.APIHeader(), Body: []byte("Forbidden")}
		}
	}
	u, problem := checkOAuth(w, c, r, params, among)
	if problem == "" {
		return u, nil
	}
	rep := rest.Reply{Status: http.StatusUnauthorized, Kind: rest.TypeHTML, Header: rest.ErrHeader(), Body: []byte("Authorization Error: " + problem)}
	rep.Header.Set("WWW-Authenticate", `OAuth realm="OAuth"`)
	return nil, &rep
}

// tokenOf finds the token of a consumer and the user who owns it.
func tokenOf(among []*world.User, consumer string) (*world.User, *world.Token) {
	for _, u := range among {
		for _, t := range u.Tokens {
			if t.Consumer == consumer {
				return u, t
			}
		}
	}
	return nil, nil
}

// OauthParams reads an OAuth header. Any other header has no parameters.
func OauthParams(header string) map[string]string {
	rest, isOAuth := strings.CutPrefix(header, "OAuth ")
	if !isOAuth {
		return nil
	}
	params := map[string]string{}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		text, err := url.PathUnescape(strings.Trim(value, `"`))
		if err != nil {
			return nil
		}
		params[name] = text
	}
	return params
}

// checkOAuth returns the user of a valid signature, or the problem in MAAS's words, which
// contain the token's secret.
func checkOAuth(w *world.World, c *Call, r *http.Request, p map[string]string, among []*world.User) (*world.User, string) {
	u, token := tokenOf(among, p["oauth_consumer_key"])
	if token == nil {
		return nil, "Invalid API key."
	}
	if token.Key != p["oauth_token"] {
		return nil, fmt.Sprintf("'Invalid access token: %s'", p["oauth_token"])
	}
	stamp, err := strconv.ParseInt(p["oauth_timestamp"], 10, 64)
	if err != nil {
		return nil, fmt.Sprintf("'Invalid timestamp: %s'", p["oauth_timestamp"])
	}
	if now := time.Now().Unix(); now-stamp > TimestampThreshold {
		return nil, fmt.Sprintf("'Expired timestamp: given %d and now %d has a greater difference than threshold %d'", stamp, now, TimestampThreshold)
	}
	if isNonceUsed(&w.Nonces, nonceKey(p)) {
		return nil, fmt.Sprintf("'Nonce already used: %s'", p["oauth_nonce"])
	}
	if problem := checkSignature(c, r, p, token.Secret); problem != "" {
		return nil, problem
	}
	addNonce(&w.Nonces, nonceKey(p), stamp)
	return u, ""
}

func isNonceUsed(n *world.Nonces, key string) bool { return n.Seen[key] > 0 }

// addNonce stores a nonce. It drops nonces whose timestamp is too old to be accepted
// again.
func addNonce(n *world.Nonces, key string, stamp int64) {
	now := time.Now().Unix()
	if now >= n.Sweep {
		maps.DeleteFunc(n.Seen, func(_ string, until int64) bool { return until < now })
		n.Sweep = now + TimestampThreshold
	}
	n.Seen[key] = max(stamp, now) + TimestampThreshold
}

func nonceKey(p map[string]string) string { return p["oauth_token"] + " " + p["oauth_nonce"] }

func checkSignature(c *Call, r *http.Request, p map[string]string, secret string) string {
	var want, base string
	switch method := p["oauth_signature_method"]; method {
	case "PLAINTEXT":
		want = "&" + secret
		base = want
	case "HMAC-SHA1":
		base = signatureBase(c, r, p)
		mac := hmac.New(sha1.New, []byte("&"+escape(secret)))
		mac.Write([]byte(base))
		want = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	default:
		return fmt.Sprintf("'Signature method %s not supported try one of the following: PLAINTEXT, HMAC-SHA1'", method)
	}
	if !hmac.Equal([]byte(want), []byte(p["oauth_signature"])) {
		return fmt.Sprintf("'Invalid signature. Expected signature base string: %s'", base)
	}
	return ""
}

// signatureBase is the base string of RFC 5849 §3.4.1 as MAAS builds it: method, address
// and sorted parameters, each name once (piston's authentication.py,
// initialize_server_request, and oauth.py, from_request). Only for a POST does it contain
// the fields of the body.
func signatureBase(c *Call, r *http.Request, p map[string]string) string {
	signed := map[string]string{}
	if r.Method == http.MethodPost && isForm(r) {
		for name, values := range c.Form {
			signed[name] = rest.LastValue(values)
		}
		if c.IsOpInBody {
			signed["op"] = c.Op
		}
	}
	maps.Copy(signed, p)
	for name := range c.Query {
		if value := c.Query.Get(name); value != "" {
			signed[name] = value
		}
	}
	delete(signed, "oauth_signature")
	delete(signed, "realm")
	var pairs []string
	for name, value := range signed {
		pairs = append(pairs, escape(name)+"="+escape(value))
	}
	slices.Sort(pairs)
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	address := scheme + "://" + strings.ToLower(r.Host) + r.URL.EscapedPath()
	return strings.Join([]string{r.Method, escape(address), escape(strings.Join(pairs, "&"))}, "&")
}

// isForm tells whether Django reads fields from the body. It does not for JSON.
func isForm(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (kind == "application/x-www-form-urlencoded" || kind == "multipart/form-data")
}

// NewCall is a request with the fields of its body. The query names the operation, or a
// field of the body does. That field is then not a field of the operation (api/support.py,
// dispatch).
func NewCall(r *http.Request, form url.Values) *Call {
	c := &Call{Method: r.Method, Query: rest.ParseQuery(r.URL.RawQuery), Form: form}
	c.Op = c.Query.Get("op")
	if c.Op == "" && isForm(r) && c.HasField("op") {
		c.Op, c.IsOpInBody = c.Field("op"), true
		delete(form, "op")
	}
	return c
}

// escape is RFC 5849 §3.6.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

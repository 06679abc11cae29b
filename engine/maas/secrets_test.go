package maas

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

const userData = "#cloud-config\nchpasswd: {list: 'root:correct-horse-battery-staple'}\nwrite_files:\n- content: |\n    a-private-thing-nobody-may-see\n"

// echoReplies are servers that repeat the request, each in its own way.
func echoReplies() map[string]func(r *http.Request, echo string) (*http.Response, error) {
	asFields := func(text string) string { return fmt.Sprintf(`{"user_data":[%q],%q:["x"]}`, text, text) }
	answers := map[string]func(r *http.Request, echo string) (*http.Response, error){
		"lost": func(_ *http.Request, echo string) (*http.Response, error) {
			return nil, fmt.Errorf("malformed HTTP response %q", echo)
		},
		"timeout": func(r *http.Request, _ string) (*http.Response, error) { return nil, pauseRequest(r, time.Hour) },
		"not JSON": func(_ *http.Request, echo string) (*http.Response, error) {
			return reply(200, "application/json", echo), nil
		},
		"HTML": func(_ *http.Request, echo string) (*http.Response, error) { return reply(200, "text/html", echo), nil },
		"fields": func(_ *http.Request, echo string) (*http.Response, error) {
			return reply(400, "application/json", asFields(echo)), nil
		},
		"raw JSON": func(_ *http.Request, echo string) (*http.Response, error) {
			return reply(400, "application/json", echo), nil
		},
		"long line": func(_ *http.Request, echo string) (*http.Response, error) {
			return reply(409, "text/plain", strings.Repeat("x ", 140)+echo), nil
		},
	}
	for _, code := range []int{301, 400, 401, 403, 404, 405, 408, 409, 410, 413, 429, 500, 502, 503, 504, 599} {
		for _, kind := range []string{"text/plain", "text/html", "application/json", ""} {
			answers[fmt.Sprintf("%d %s", code, kind)] = func(_ *http.Request, echo string) (*http.Response, error) { return reply(code, kind, echo), nil }
		}
	}
	return answers
}

// TestNothingSecretIsSaid makes every call fail with servers that repeat the request, and
// searches errors and logs for secrets.
func TestNothingSecretIsSaid(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte(userData))
	echoKey := "You sent " + strings.ReplaceAll(testKey, ":", " ") + " and " + testKey
	echoAll := echoKey + " with " + userData + " alias " + encoded + ", that is " + encoded[20:60] + " or 'correct-horse-battery-staple'"
	forbidden := append(strings.Split(testKey, ":"), encoded, encoded[20:60],
		"correct-horse", "battery-staple", "a-private-thing", "nobody-may-see", "chpasswd")
	for name, answer := range echoReplies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fakeTransport{answer: func(r *http.Request, s sentRequest) (*http.Response, error) {
					if s.Form.Has("user_data") {
						return answer(r, echoAll)
					}
					return answer(r, echoKey)
				}}
				var log *syncBuffer
				c := testClient(t, f, func(config *Config) { log = logTo(config) })
				err := c.Machines.Deploy(t.Context(), "abc123", engine.Deployment{UserData: []byte(userData)})
				said := fmt.Sprintf("%v %+v %#v", err, err, err)
				if e, ok := api.AsError(err); ok {
					said += fmt.Sprintf("%#v", *e)
				}
				_, err = c.Machines.Machine(t.Context(), "abc123")
				said += fmt.Sprintf("%v", err) + log.String()
				if log.String() == "" {
					t.Fatal("there is no log to search")
				}
				for _, secret := range forbidden {
					if strings.Contains(said, secret) {
						t.Errorf("%q is said in:\n%s", secret, said)
					}
				}
			})
		})
	}
}

// TestNoPrivateKeyIsSaid does the same with the calls that send a private key, and with the
// one whose answer holds one.
func TestNoPrivateKeyIsSaid(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	quoted := fmt.Sprintf("%q", pair.Key)
	echo := "You sent " + pair.Key + " alias " + url.QueryEscape(pair.Key) + ", that is " + quoted
	var forbidden []string
	for line := range strings.Lines(pair.Key) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
			forbidden = append(forbidden, line[:min(len(line), 20)], line[len(line)-min(len(line), 20):])
		}
	}
	calls := map[string]func(context.Context, *Client) error{
		"Register": func(ctx context.Context, c *Client) error {
			_, err := c.Hosts.Register(ctx, registration(pair))
			return err
		},
		"UpdateHost": func(ctx context.Context, c *Client) error {
			return c.Hosts.UpdateHost(ctx, engine.VMHost{ID: 8}, engine.HostUpdate{Credentials: &pair})
		},
		"Enlist": func(ctx context.Context, c *Client) error {
			_, err := c.Enlister.Enlist(ctx, enlistment(pair))
			return err
		},
		"Rekey": func(ctx context.Context, c *Client) error {
			return c.Enlister.SetPowerInstance(ctx, "abc123", enlistment(pair).Instance, pair)
		},
		"PowerOf": func(ctx context.Context, c *Client) error {
			_, err := c.Enlister.PowerInstanceOf(ctx, "abc123")
			return err
		},
		"Endpoint": func(ctx context.Context, c *Client) error {
			_, err := c.Hosts.Endpoint(ctx, engine.VMHost{ID: 8})
			return err
		},
	}
	for call, do := range calls {
		for name, answer := range echoReplies() {
			t.Run(call+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := &fakeTransport{answer: func(r *http.Request, _ sentRequest) (*http.Response, error) { return answer(r, echo) }}
					var log *syncBuffer
					c := testClient(t, f, func(config *Config) { log = logTo(config) })
					err := do(t.Context(), c)
					said := fmt.Sprintf("%v %+v %#v", err, err, err) + log.String()
					if e, ok := api.AsError(err); ok {
						said += fmt.Sprintf("%#v", *e)
					}
					if log.String() == "" {
						t.Fatal("there is no log to search")
					}
					for _, secret := range forbidden {
						if strings.Contains(said, secret) {
							t.Errorf("%q is said in:\n%s", secret, said)
						}
					}
				})
			})
		}
	}
}

// TestARefusedPairIsNotSaid searches the errors of pairs that are not sent.
func TestARefusedPairIsNotSaid(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0LXNlY3JldC1zZWNyZXQ=\n-----END PRIVATE KEY-----\n"
	for _, pair := range []engine.Credentials{{Certificate: key, Key: key}, {Certificate: newPair(t).Certificate, Key: key}} {
		_, err := testClient(t, newConstantFake(200, "application/json", "{}")).Hosts.Register(t.Context(), registration(pair))
		e, ok := api.AsError(err)
		if !ok || strings.Contains(fmt.Sprintf("%v %#v", err, *e), "c2VjcmV0") {
			t.Errorf("got %v", err)
		}
	}
}

// TestSecretsAreSoughtInWhatIsShown hides the key's secret among characters that a line
// does not show, and at the place where the line is cut.
func TestSecretsAreSoughtInWhatIsShown(t *testing.T) {
	t.Parallel()
	secret := strings.Split(testKey, ":")[2]
	half := len(secret) / 2
	cases := map[string]struct{ reason, body string }{
		"BehindSpaces": {"White space is squeezed, so the secret moves to the front.", strings.Repeat(" ", 4096-half) + secret},
		"ZeroWidth":    {"What is not shown parts nothing.", "you sent " + secret[:half] + "\u200b" + secret[half:]},
		"NUL":          {"Nor does a NUL.", "you sent " + secret[:half] + "\x00" + secret[half:]},
		"AtTheCut":     {"A cut must not leave its beginning.", strings.Repeat("x", api.MaxLine-half) + secret},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testClient(t, newRouteFake(map[string]func() *http.Response{
				"GET machines/?id=abc": func() *http.Response { return reply(500, "text/plain", tc.body) },
			}))
			_, err := c.Machines.Machine(t.Context(), "abc")
			if err == nil || strings.Contains(err.Error(), secret[:half]) {
				t.Errorf("%s got %v", tc.reason, err)
			}
		})
	}
}

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
)

// secrets are texts that nobody may read who may not read Secrets.
type secrets struct {
	mu    sync.Mutex
	texts map[string]string // where each is from
}

// minSecretLineLength is how long a line is that is found nowhere by chance.
const minSecretLineLength = 40

// tokenPattern finds the tokens by which machines join a cluster.
var tokenPattern = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)

// addText takes the lines of a text, which may be encoded once more, and tokens in
// it.
func (s *secrets) addText(from, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= minSecretLineLength && !strings.HasPrefix(line, "-----") {
			s.texts[line] = from
		}
	}
	for _, t := range tokenPattern.FindAllString(text, -1) {
		s.texts[t] = from
	}
	if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
		s.texts[string(decoded)] = from
	}
}

// collect takes what the Secrets of a namespace hold, but not certificates,
// which anyone may know.
func (s *secrets) collect(t *testing.T, w *world, namespace string) {
	t.Helper()
	all := &corev1.SecretList{}
	if err := w.List(t.Context(), all, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, secret := range all.Items {
		for name, value := range secret.Data {
			if name != corev1.TLSCertKey {
				s.addText("Secret "+secret.Name+" "+name, string(value))
			}
		}
	}
}

// collectOwn takes the manager's: its API key, and the key pair for LXD.
func (s *secrets) collectOwn(t *testing.T, w *world) {
	t.Helper()
	s.addText("the API key", w.key)
	s.mu.Lock()
	s.texts[strings.Split(w.key, ":")[2]] = "the API key's secret"
	s.mu.Unlock()
	pair := &corev1.Secret{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: infrav1.DefaultNamespace, Name: "maaslxd-lxd-client"}, pair); err != nil {
		t.Errorf("there is no key pair for LXD: %v", err)
	}
	s.addText("the key pair for LXD", string(pair.Data[corev1.TLSPrivateKeyKey]))
}

// sourcesIn says whose secrets stand in a text.
func (s *secrets) sourcesIn(text string) (whose []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret, from := range s.texts {
		if strings.Contains(text, secret) {
			whose = append(whose, from)
		}
	}
	return whose
}

// wantNoneIn fails where a secret stands in a text.
func (s *secrets) wantNoneIn(t *testing.T, where, text string) {
	t.Helper()
	for _, whose := range s.sourcesIn(text) {
		t.Errorf("%s shows a line of %s", where, whose)
	}
}

// TestSecretsAreFound: lines and tokens are, wherever they stand, and what
// everybody may know is not.
func TestSecretsAreFound(t *testing.T) {
	t.Parallel()
	var s secrets
	line := strings.Repeat("MIIEv", 12)
	s.addText("a Secret", "-----BEGIN PRIVATE KEY-----\n"+line+"\n-----END PRIVATE KEY-----\ntoken: abcdef.0123456789abcdef\n")
	cases := map[string]struct {
		reason string
		text   string
		want   int
	}{
		"Line":     {"A key in a log has its line ends escaped.", `err="bad key -----BEGIN PRIVATE KEY-----\n` + line + `\n"`, 1},
		"Token":    {"A token is short.", "cannot join with abcdef.0123456789abcdef: expired", 1},
		"Frame":    {"What frames a key is no secret.", "want -----BEGIN PRIVATE KEY-----", 0},
		"Innocent": {"Most texts are.", "deploying machine m1", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := s.sourcesIn(tc.text); len(got) != tc.want {
				t.Errorf("%s\nfound %q, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// wantNoSecretShown holds that no secret is shown, of all that there were.
func (w *world) wantNoSecretShown(t *testing.T) {
	t.Helper()
	w.secrets.collectOwn(t, w)
	if n := len(w.secrets.texts); n < 100 {
		t.Errorf("only %d secret texts were collected; want those of several clusters", n)
	}
	w.wantNoSecretLogged(t)
}

// wantNoSecretLogged holds that neither the manager's log nor events show a secret that is
// known by now.
func (w *world) wantNoSecretLogged(t *testing.T) {
	t.Helper()
	w.secrets.wantNoneIn(t, "the manager's log", w.readManagerLog(t))
	w.wantNoSecretIn(t, &eventsv1.EventList{})
}

// wantNoSecretIn holds that objects, conditions and all, show no secret.
func (w *world) wantNoSecretIn(t *testing.T, list client.ObjectList) {
	t.Helper()
	if err := w.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	w.secrets.wantNoneIn(t, fmt.Sprintf("%T", list), string(text))
}

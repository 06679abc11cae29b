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

// secrets are texts that only those may read who may read Secrets.
type secrets struct {
	mu    sync.Mutex
	texts map[string]string // where each text is from
}

// minSecretLineLength is a length at which no line occurs twice by chance.
const minSecretLineLength = 40

// tokenPattern finds the tokens by which machines join a cluster.
var tokenPattern = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)

// addText adds the lines of a text and the tokens in it. The text may be
// encoded once more.
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

// collect adds the contents of the Secrets of a namespace, without
// certificates, which are public.
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

// collectOwn adds the manager's own secrets: its API key, and the key pair for
// LXD.
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

// sourcesIn names the sources of the secrets in a text.
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

// wantNoneIn fails where a text contains a secret.
func (s *secrets) wantNoneIn(t *testing.T, where, text string) {
	t.Helper()
	for _, whose := range s.sourcesIn(text) {
		t.Errorf("%s shows a line of %s", where, whose)
	}
}

// TestSecretsAreFound: lines and tokens are found wherever they are, and public
// texts are not.
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

// wantNoSecretShown checks that none of all secrets is shown anywhere.
func (w *world) wantNoSecretShown(t *testing.T) {
	t.Helper()
	w.secrets.collectOwn(t, w)
	if n := len(w.secrets.texts); n < 100 {
		t.Errorf("only %d secret texts were collected; want those of several clusters", n)
	}
	w.wantNoSecretLogged(t)
}

// wantNoSecretLogged checks that neither the manager's log nor events show a
// secret that was collected so far.
func (w *world) wantNoSecretLogged(t *testing.T) {
	t.Helper()
	w.secrets.wantNoneIn(t, "the manager's log", w.readManagerLog(t))
	w.wantNoSecretIn(t, &eventsv1.EventList{})
}

// wantNoSecretIn checks that objects and their conditions show no secret.
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

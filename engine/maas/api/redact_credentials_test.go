package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedactTakesCredentialsOut(t *testing.T) {
	t.Parallel()
	c := &Client{redact: redactor{key: apiKey{"myConsumer", "myToken", "mySecret"}}}
	cases := map[string]struct{ reason, text, want string }{
		"Plain":       {"What holds no secret stays.", "no disk answers: sda (I/O error)", "no disk answers: sda (I/O error)"},
		"Setting":     {"A value with a telling name is hidden.", "db_password=hunter2 host=db1", "db_password=[redacted] host=db1"},
		"YAML":        {"So it is in YAML.", "  passwd: hunter2", "passwd: [redacted]"},
		"JSON":        {"And in JSON, with what is quoted.", `{"auth_token": "a b\"c", "n": 1}`, `{"auth_token": [redacted], "n": 1}`},
		"Python":      {"Logs print dictionaries.", "{'token_secret': 'abc def', 'n': 1}", "{'token_secret': [redacted], 'n': 1}"},
		"CurlUser":    {"A user's password follows the name.", "curl -k -u admin:hunter2 https://mirror.lab", "curl -k -u admin:[redacted] https://mirror.lab"},
		"Chpasswd":    {"So it does for chpasswd.", "echo 'root:hunter2' | chpasswd", "echo 'root:[redacted]' | chpasswd"},
		"Flag":        {"And of flags.", "curl --password hunter2 -k", "curl --password [redacted] -k"},
		"NoFlag":      {"A word with a hyphen is no flag.", "the user-token expired", "the user-token expired"},
		"URL":         {"An address may carry a password.", "GET http://me:hunter2@mirror/ubuntu", "GET http://[redacted]@mirror/ubuntu"},
		"MAASKey":     {"The form of MAAS's keys is known.", "key " + strings.Repeat("a", 18) + ":" + strings.Repeat("B", 18) + ":" + strings.Repeat("c", 32), "key [redacted]"},
		"OwnKey":      {"This client's key goes in any case.", "bad token of myConsumer", "bad token of [redacted]"},
		"Header":      {"A header of HTTP goes to its end.", "Authorization: OAuth realm=x, oauth_token=y", "Authorization: [redacted]"},
		"Bearer":      {"So does a part of one.", "sent Bearer abcdefgh12345678", "sent Bearer [redacted]"},
		"Hash":        {"Hashes of passwords are guessed at.", "root:$6$salt$abcdefghijk:1", "root:[redacted]:1"},
		"JoinToken":   {"kubeadm's tokens let nodes join.", "kubeadm join --token abcdef.0123456789abcdef", "kubeadm join --token [redacted]"},
		"WebToken":    {"JSON web tokens are credentials.", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln", "got [redacted]"},
		"UserData":    {"Passages of what is secret go.", "line 3: runcmd: [rm -rf /] is bad", "line 3: [redacted] is bad"},
		"Colours":     {"What a terminal acts on goes first: it could part a secret.", "\x1b[31mpass\x1b[0mword=hunter2\x07", "password=[redacted]"},
		"Hidden":      {"So does what is not shown.", "pass\u200bword=hunter2", "password=[redacted]"},
		"CutPEM":      {"A key whose end is missing goes.", "-----BEGIN RSA PRIVATE KEY----- MIIE", "[redacted]"},
		"Certificate": {"What stands around a block stays.", "a -----BEGIN CERTIFICATE----- MIIE -----END CERTIFICATE----- b", "a [redacted] b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.Redact(tc.text, "#cloud-config\nruncmd: [rm -rf /]\n"); got != tc.want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestRedactEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"Empty": {"A script that says nothing has no end.", " \n\x00\n", nil},
		"Last":  {"The end tells why.", "1\n2\n3\r\n\n4\n", []string{"2", "3", "4"}},
		"PEM":   {"A key goes as a whole, though its lines look harmless.", "a\n-----BEGIN PRIVATE KEY-----\nMIIE\nabcd\n-----END PRIVATE KEY-----\nfailed", []string{"a", "[redacted]", "failed"}},
		"Cut":   {"So does one whose beginning was cut off.", strings.Repeat("k", maxOutput) + "\nabcd\n-----END PRIVATE KEY-----\nfailed", []string{"[redacted]", "failed"}},
		"Long":  {"A line is short.", strings.Repeat("x", 500), []string{strings.Repeat("x", maxOutputLine) + "…"}},
		"Bytes": {"It is no text.", "a\xff\xfe\nb", []string{"a", "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, new(Client).RedactLastLines(tc.text, 3)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

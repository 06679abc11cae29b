package replay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
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

// certificatePair is a certificate with its key, both PEM.
type certificatePair struct{ certificate, key string }

func newCertificatePair() (certificatePair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificatePair{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "replay"}, NotAfter: time.Now().AddDate(1, 0, 0)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificatePair{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificatePair{}, err
	}
	return certificatePair{
		certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})),
		key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}, nil
}

// certificatesFor returns the pair that replaces the placeholders of a request.
func (p *player) certificatesFor(e recording.Exchange) certificatePair {
	if p.certificatesOf != nil {
		return p.certificatesOf(p, e)
	}
	return p.trustedPair
}

// setAuthorization sets the Authorization header of an exchange: a new one, none, or one
// that MAAS refuses as recorded.
func (p *player) setAuthorization(e recording.Exchange, request *http.Request) {
	header := ""
	if p.headerOf != nil {
		header = p.headerOf(e)
	}
	switch {
	case header != "":
	case e.Response.Status == http.StatusUnauthorized:
		header = refusedHeader(p.world, e)
	case e.Request.Authenticated:
		key := sim.DefaultAdminKey
		if p.isFromNonAdmin(e) {
			key = sim.DefaultUserKey
		}
		header = apiKey(key).header(time.Now())
	}
	if header != "" {
		request.Header.Set("Authorization", header)
	}
}

// isFromNonAdmin tells whether a user without admin rights sent the exchange. The answer
// decides; else the recording does.
func (p *player) isFromNonAdmin(e recording.Exchange) bool {
	var answer struct {
		Owner struct {
			IsSuperuser *bool `json:"is_superuser"`
		}
	}
	if e.Request.Method == http.MethodPost && e.OK() && decode(e, &answer) && answer.Owner.IsSuperuser != nil {
		return !*answer.Owner.IsSuperuser
	}
	return e.IsByUser() || p.byUser != nil && p.byUser(e)
}

// refusalPatterns are MAAS's messages about a header that it refuses (apiserver/middleware
// and piston's authentication).
var refusalPatterns = map[string]*regexp.Regexp{
	"key":       regexp.MustCompile(`Invalid API key`),
	"token":     regexp.MustCompile(`Invalid access token: ([^']*)`),
	"secret":    regexp.MustCompile(`Invalid signature`),
	"timestamp": regexp.MustCompile(`Expired timestamp`),
	"nonce":     regexp.MustCompile(`Nonce already used`),
	"method":    regexp.MustCompile(`Signature method (\S+) not supported`),
}

// refusedHeader makes a header that MAAS refuses with the words of the recorded answer. It
// is empty where that answer says that the header was missing.
func refusedHeader(world *sim.Sim, e recording.Exchange) string {
	var text string
	decode(e, &text)
	parts := strings.Split(sim.DefaultAdminKey, ":")
	at, method, nonce := time.Now(), "PLAINTEXT", fmt.Sprintf("refused%d", headerSerial.Add(1))
	for what, pattern := range refusalPatterns {
		said := pattern.FindStringSubmatch(text)
		switch {
		case said == nil:
			continue
		case what == "key":
			parts[0] = "nobody"
		case what == "token":
			parts[1] = url.PathEscape(said[1])
		case what == "secret":
			parts[2] = "wrong"
		case what == "timestamp":
			at = at.Add(-time.Hour)
		case what == "method":
			method = said[1]
		}
		header := oauthHeader(parts[0], parts[1], parts[2], nonce, at, method)
		if what == "nonce" {
			once := httptest.NewRequest(http.MethodGet, "http://maas.test"+recording.APIRoot+"version/", nil)
			once.Header.Set("Authorization", header)
			serveRequest(world, once)
		}
		return header
	}
	return ""
}

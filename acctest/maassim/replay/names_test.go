package replay

import (
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// genuineHooks are the details that the names of the genuine exchanges reveal.
func genuineHooks() hooks {
	return hooks{headerOf: brokenHeaders(), acceptOf: acceptOf, certificatesOf: genuineCertificates, byUser: isGenuineUserCall, formOf: formOf}
}

// acceptOf is an Accept header that a recording does not contain.
func acceptOf(e recording.Exchange) string {
	return map[string]string{"accept-xml": "application/xml", "accept-any": "*/*"}[e.Name]
}

func genuineCertificates(p *player, e recording.Exchange) certificatePair {
	switch {
	case strings.HasSuffix(e.Name, "cert-key-mismatch"):
		return certificatePair{certificate: p.trustedPair.certificate, key: p.untrustedPair.key}
	case strings.HasSuffix(e.Name, "untrusted-cert"):
		return p.untrustedPair
	}
	return p.trustedPair
}

func isGenuineUserCall(e recording.Exchange) bool {
	return strings.Contains(e.Name, "user1") || strings.Contains(e.Name, "nonadmin") && e.Response.Status != 200 ||
		strings.HasSuffix(e.Name, "-nonadmin") && e.Request.Method == "GET" || e.Name == "nonadmin-vmhost-list"
}

// formOf is a multipart form that a recording does not contain.
func formOf(e recording.Exchange) map[string]any {
	if e.Name == "zone-create-multipart" {
		return map[string]any{"name": "az-mp", "description": "multipart"}
	}
	return nil
}

// brokenHeaders are the invalid headers of the exchanges about OAuth itself.
func brokenHeaders() func(recording.Exchange) string {
	parts := strings.Split(sim.DefaultAdminKey, ":")
	consumer, token, secret := parts[0], parts[1], parts[2]
	nonce := ""
	return func(e recording.Exchange) string {
		now := time.Now()
		switch e.Name {
		case "oauth-invalid-consumer", "oauth-version-without-auth-needed-but-bad-creds":
			return oauthHeader("badconsumer", token, secret, "n1", now, "PLAINTEXT")
		case "oauth-invalid-token":
			return oauthHeader(consumer, "badtoken0000000000", secret, "n2", now, "PLAINTEXT")
		case "oauth-invalid-secret":
			return oauthHeader(consumer, token, "badsecret", "n3", now, "PLAINTEXT")
		case "oauth-expired-timestamp":
			return oauthHeader(consumer, token, secret, "n4", now.Add(-time.Hour), "PLAINTEXT")
		case "oauth-future-timestamp":
			return oauthHeader(consumer, token, secret, "n5", now.Add(time.Hour), "PLAINTEXT")
		case "oauth-nonce-first-use":
			nonce = oauthHeader(consumer, token, secret, "n6", now, "PLAINTEXT")
			return nonce
		case "oauth-nonce-reused":
			return nonce
		case "oauth-garbage-header":
			return "OAuth garbage"
		case "oauth-bearer-header":
			return "Bearer " + token
		case "oauth-bad-signature-method":
			return oauthHeader(consumer, token, secret, "n7", now, "HMAC-SHA256")
		}
		return ""
	}
}

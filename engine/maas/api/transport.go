package api

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

// newTransport keeps connections alive and few. It speaks HTTP/1.1 only, as
// MAAS's own nginx does: that keeps a lost connection the matter of one
// request.
func newTransport(maxConns int, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		// Well before nginx hangs up (75 s), so that a POST is not lost on a
		// connection that the other side is closing.
		IdleConnTimeout: 30 * time.Second,
		// The deadline of each request is shorter; this one holds should a
		// Request ever have none.
		ResponseHeaderTimeout: 15 * time.Minute,
	}
}

package api

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

// newTransport keeps few connections and keeps them open. It uses only HTTP/1.1, like
// MAAS's own nginx, so that a lost connection affects only one request.
func newTransport(maxConns int, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		// Well before nginx closes the connection (75 s), so that no POST is lost on a
		// connection that the other side is closing.
		IdleConnTimeout: 30 * time.Second,
		// A safeguard: the deadline of each request is shorter.
		ResponseHeaderTimeout: 15 * time.Minute,
	}
}

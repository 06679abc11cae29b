package service

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"
)

// NewServer serves a handler over HTTP/2 and TLS 1.3 only, and asks clients for their
// certificates. It calls certificate for each new connection.
func NewServer(handler http.Handler, certificate func() (*tls.Certificate, error), log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	server := &http.Server{
		Handler:   handler,
		Protocols: &protocols,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13,
			// Register.Identify decides for each request whose certificate it is, and whether it
			// counts.
			ClientAuth:     tls.RequestClientCert,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate() },
		},
		// Pings find a connection whose client is gone. A client that takes no answer is cut
		// off.
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, SendPingTimeout: time.Minute, PingTimeout: 15 * time.Second, WriteByteTimeout: 30 * time.Second,
		},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       maxTimeout,
		WriteTimeout:      2 * maxTimeout,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	if log != nil {
		server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug) // handshakes of port scanners are not worth more
	}
	return server
}

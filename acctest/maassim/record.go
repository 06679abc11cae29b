package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
)

// recordMAAS records the MAAS behind it until ctx ends.
func recordMAAS(ctx context.Context, o options, stdout, stderr io.Writer) error {
	transport, err := upstreamTransport(o.caFile)
	if err != nil {
		return usageError{err}
	}
	proxy, err := record.New(o.upstreamURL, o.record, transport, func(err error) { fmt.Fprintln(stderr, "maassim:", err) })
	if err != nil {
		return usageError{err}
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("cannot record: %w", err)
	}
	fmt.Fprintf(stdout, "export MAAS_API_URL=%s\n", proxy.URL(listener.Addr().String()))
	fmt.Fprintf(stderr, "maassim: recording the calls to %s into %s. Point clients at the URL above, with their own API keys; end it with Ctrl-C.\n", o.upstreamURL, o.record)
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
		return fmt.Errorf("cannot record: %w", err)
	case <-ctx.Done():
	}
	soon, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(soon); err != nil {
		_ = server.Close() // calls that are still under way are not recorded
	}
	if err := proxy.Finish(); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "maassim: %d exchanges are in %s. Look through them before you give them away.\n", proxy.WrittenCount(), o.record)
	return nil
}

// upstreamTransport connects to the MAAS that is recorded. It trusts the system's
// certificates and those of the file.
func upstreamTransport(caFile string) (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression, t.MaxIdleConnsPerHost = true, 100
	if caFile == "" {
		return t, nil
	}
	content, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("-ca: %w", errors.New("no certificate in "+caFile))
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

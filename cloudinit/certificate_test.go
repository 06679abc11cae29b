package cloudinit_test

import (
	"bytes"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// TestCertificateComesAlone: a file may contain more than the certificate, and the rest
// must not get into user-data.
func TestCertificateComesAlone(t *testing.T) {
	t.Parallel()
	text := "password: canary\n" + string(readTestdata(t, "current.crt"))
	rendered, err := withTestCertificate(t, cloudinit.Host{TrustedCertificates: []string{text}}).Render()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(rendered, []byte("canary")) {
		t.Error("what stands before the certificate is in the user-data")
	}
}

package setup

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "gopkg.in/yaml.v2"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine/lxd/lxdtest"
)

// TestApplyAfterPreseed: after a first boot's preseed, only those parts are left to do that
// a preseed cannot hold.
func TestApplyAfterPreseed(t *testing.T) {
	t.Parallel()
	s := lxdtest.StartForTest(t, "br0")
	h := freshLXD{bridges: []string{"br0"}}.newHost(t)
	s.Preseed(t, preseedOf(t, h))
	conn, err := ConnectLocal(t.Context(), s.Socket, "")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Apply(t.Context(), conn, h, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"interface br0": "keep", "storage pool vms": "keep", "project maas": "keep", "listening": "keep",
		"profile default of project maas": "done", "certificate " + fingerprintOf(t, h.TrustedCertificates[0])[:12]: "done",
	}
	if diff := cmp.Diff(want, verdictsByObject(report)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// preseedOf returns the preseed that cloud-init would pass to "lxd init", from the
// cloud-config in the host's user-data.
func preseedOf(t *testing.T, h cloudinit.Host) string {
	t.Helper()
	data, err := h.Render()
	if err != nil {
		t.Fatal(err)
	}
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	_, fields, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	for parts := multipart.NewReader(message.Body, fields["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			t.Fatal("the user-data has no preseed")
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		var config struct{ LXD struct{ Preseed string } }
		if yaml.Unmarshal(text, &config) == nil && config.LXD.Preseed != "" {
			return config.LXD.Preseed
		}
	}
}

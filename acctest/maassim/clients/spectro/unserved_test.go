package spectro

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/gomaasapi/v2"
	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// wantNotServed checks for the error about an operation that the simulator does not have.
func wantNotServed(t *testing.T, reason string, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "status: 501") && strings.Contains(err.Error(), "does not serve it") {
		return
	}
	t.Errorf("%s: want 501, got %v; what is served by now has a test of its effect", reason, err)
}

func TestSpaces(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		spaces := must(c.Spaces().List(t.Context()))
		wantSame(t, "that there are spaces", len(spaces) > 0, true)
		for _, s := range spaces {
			wantSame(t, "that a space has a name", s.Name() != "", true)
			wantSame(t, "the number of subnets", len(s.Subnets()), 2)
		}
	})
}

func TestSSHKeys(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		raw := must(gomaasapi.NewAuthenticatedClient(os.Getenv("MAAS_API_URL")+"/api/2.0", os.Getenv("MAAS_API_KEY")))
		key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJEa5l0Y3Zq4Jb6Zs1x6H8u2n6y3T1o1k3lq3bZb3vXc me"
		must(raw.Post(&url.URL{Path: "account/prefs/sshkeys/"}, "", url.Values{"key": {key}}, nil))
		keys := must(c.SSHKeys().List(t.Context()))
		wantSame(t, "the number of keys", len(keys), 1)
		wantSame(t, "the key", keys[0].Key(), key)
		wantSame(t, "that it has an id", keys[0].ID() > 0, true)
		wantSame(t, "its source", keys[0].KeySource(), "")
	})
}

func TestImportBootImages(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		wantNotServed(t, "images are those of the model", c.RackControllers().ImportBootImages(t.Context()))
	})
}

func TestImageUploaded(t *testing.T) {
	startClient(t, func(c maas.ClientSetInterface) {
		file := filepath.Join(t.TempDir(), "image.tgz")
		content := []byte("an image")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		image, err := c.BootResources().Builder("custom/one", "amd64/generic", hex.EncodeToString(sum[:]), file, len(content)).
			WithTitle("one").WithFileType("tgz").WithBaseImage("ubuntu/jammy").Create(t.Context())
		if err != nil {
			wantNotServed(t, "images are those of the model", err)
			return
		}
		mustSucceed(image.Upload(t.Context()))
		wantSame(t, "the title", must(image.Get(t.Context())).Title(), "one")
		mustSucceed(image.Delete(t.Context()))
	})
}

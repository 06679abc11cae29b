package spectro

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	maas "github.com/spectrocloud/maas-client-go/maasclient"
)

// lacks wants an error that says what the simulator does not have.
func lacks(t *testing.T, reason string, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), "status: 501") && strings.Contains(err.Error(), "does not serve it") {
		return
	}
	t.Skipf("%s: the simulator serves this by now (%v): assert its effect", reason, err)
}

func TestSpaces(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		spaces, err := c.Spaces().List(t.Context())
		if err == nil {
			for _, s := range spaces {
				same(t, "that a space has a name", s.Name() != "", true)
				same(t, "the number of subnets", len(s.Subnets()), 2)
			}
			return
		}
		lacks(t, "there are no spaces", err)
	})
}

func TestSSHKeys(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		keys, err := c.SSHKeys().List(t.Context())
		if err == nil {
			for _, k := range keys {
				same(t, "that a key is whole", k.ID() > 0 && k.Key() != "" && k.KeySource() != "", true)
			}
			return
		}
		lacks(t, "accounts are those of the model", err)
	})
}

func TestImportBootImages(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		lacks(t, "images are those of the model", c.RackControllers().ImportBootImages(t.Context()))
	})
}

func TestImageUploaded(t *testing.T) {
	start(t, func(c maas.ClientSetInterface) {
		file := filepath.Join(t.TempDir(), "image.tgz")
		content := []byte("an image")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		image, err := c.BootResources().Builder("custom/one", "amd64/generic", hex.EncodeToString(sum[:]), file, len(content)).
			WithTitle("one").WithFileType("tgz").WithBaseImage("ubuntu/jammy").Create(t.Context())
		if err != nil {
			lacks(t, "images are those of the model", err)
			return
		}
		try(image.Upload(t.Context()))
		same(t, "the title", must(image.Get(t.Context())).Title(), "one")
		try(image.Delete(t.Context()))
	})
}

package e2elxd

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	client "github.com/canonical/lxd/client"
	yaml "gopkg.in/yaml.v2"

	"github.com/maaslxd/maaslxd/cloudinit"
	"github.com/maaslxd/maaslxd/engine/fleetkey"
)

// storageAddress is where the LXD listens. No other LXD listens there in the
// network of the run.
const storageAddress = "127.0.0.1:8443"

// TestRealStorage tests pools that need loop devices, disks or kernel modules,
// with an LXD outside of a machine: containers get none of these. It also
// checks the size of a pool as seen from outside.
func TestRealStorage(t *testing.T) {
	t.Parallel()
	needE2E(t)
	d, err := startLXD("storage")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("FilesAndDisks", func(t *testing.T) { d.testFileAndDiskPools(t) })
	for driver, kernel := range map[cloudinit.Driver]func() bool{cloudinit.LVM: hasDeviceMapper, cloudinit.ZFS: hasZFS} {
		t.Run(string(driver), func(t *testing.T) {
			config := renderCloudConfig(t, cloudinit.StoragePool{Driver: driver, SizeGB: 5})
			checkSchema(t, config)
			said, err := d.applyPreseed(t, config)
			switch {
			case kernel() && err != nil:
				t.Errorf("needs the tools of %s (package lvm2 or zfsutils-linux): this kernel has it, and LXD refuses the pool: %s", driver, said)
			case kernel():
				t.Logf("%s: LXD has made the pool", driver)
			case err == nil || !strings.Contains(said, string(driver)) || !strings.Contains(said, "Failed to create storage pool"):
				t.Errorf("this kernel has none, and LXD says: %s, %v", said, err)
			default: // it passes LXD's parser and reaches the driver
				t.Logf("%s: this kernel has none, so it was checked as far as cloud-init's and LXD's parsers go; LXD then said: %s", driver, said)
			}
		})
	}
}

// testFileAndDiskPools makes pools of btrfs in a file and on a disk.
func (d daemon) testFileAndDiskPools(t *testing.T) {
	if said, err := d.applyPreseed(t, renderCloudConfig(t, cloudinit.StoragePool{Driver: cloudinit.Btrfs, SizeGB: 5})); err != nil {
		t.Fatal(said)
	}
	if got := strings.TrimSpace(d.lxc(t, "storage", "get", "default", "size")); got != "5GB" {
		t.Errorf("the pool has %s, want 5GB", got)
	}
	outside := d.connectRestricted(t)
	wantPoolSize(t, outside, 5e9)
	d.deleteDefaultPool(t)
	disk := newLoopDevice(t, 6e9)
	onDisk := renderCloudConfig(t, cloudinit.StoragePool{Driver: cloudinit.Btrfs, Source: disk})
	if said, err := d.applyPreseed(t, onDisk); err != nil {
		t.Fatal(said)
	}
	wantPoolSize(t, outside, 6e9) // the whole disk
	// The pool's signature stays on the disk, as after a machine's release.
	d.deleteDefaultPool(t)
	if said, err := d.applyPreseed(t, onDisk); err == nil || !strings.Contains(said, "existing filesystem") {
		t.Errorf("a disk that is occupied was taken: %s, %v", said, err)
	}
}

// connectRestricted connects to the LXD over HTTPS, with a certificate that is
// restricted like a fleet's.
func (d daemon) connectRestricted(t *testing.T) client.InstanceServer {
	t.Helper()
	key, err := fleetkey.LoadOrCreate(inFolder("key-storage"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/client.crt"
	if err := os.WriteFile(file, []byte(key.Certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	d.lxc(t, "config", "trust", "add", file, "--restricted", "--projects", "maas")
	conn, err := client.ConnectLXDWithContext(t.Context(), "https://"+storageAddress, &client.ConnectionArgs{
		TLSClientCert: key.Certificate, TLSClientKey: key.Key, InsecureSkipVerify: true, // the identity of this LXD is not tested here
	})
	if err != nil {
		t.Fatal(err)
	}
	return conn.UseProject("maas")
}

// wantPoolSize checks the size of the pool in bytes, as a client sees it that
// may not read its configuration. A file system shows a little less than its
// size, never more.
func wantPoolSize(t *testing.T, conn client.InstanceServer, want uint64) {
	t.Helper()
	space, err := conn.GetStoragePoolResources("default")
	if err != nil {
		t.Fatal(err)
	}
	if got := space.Space.Total; got > want || got < want/100*99 {
		t.Errorf("seen from outside the pool has %d bytes, want %d, or up to 1 %% less", got, want)
	}
}

// deleteDefaultPool deletes the pool again.
func (d daemon) deleteDefaultPool(t *testing.T) {
	t.Helper()
	d.lxc(t, "storage", "delete", "default")
}

// renderCloudConfig is the cloud-config of a host with one pool.
func renderCloudConfig(t *testing.T, pool cloudinit.StoragePool) []byte {
	t.Helper()
	certificate, err := os.ReadFile("../../cloudinit/testdata/current.crt")
	if err != nil {
		t.Fatal(err)
	}
	data, err := cloudinit.Host{
		ListenAddress: "10.99.0.1", StoragePools: map[string]cloudinit.StoragePool{"default": pool},
		TrustedCertificates: []string{string(certificate)},
	}.Render()
	if err != nil {
		t.Fatal(err)
	}
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			t.Fatalf("there is no part for LXD: %v", err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/cloud-config;") {
			return body
		}
	}
}

// checkSchema runs cloud-init's own check on the cloud-config. It does without
// --annotate, which makes the status always 0.
func checkSchema(t *testing.T, config []byte) {
	t.Helper()
	file := t.TempDir() + "/config"
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cloud-init", "schema", "--config-file", file).CombinedOutput(); err != nil {
		t.Errorf("cloud-init schema: %v\n%s", err, out)
	}
}

// applyPreseed does what cloud-init's module for LXD does, and returns LXD's
// output.
func (d daemon) applyPreseed(t *testing.T, config []byte) (string, error) {
	t.Helper()
	var in struct {
		LXD struct{ Preseed string }
	}
	if err := yaml.Unmarshal(config, &in); err != nil || in.LXD.Preseed == "" {
		t.Fatalf("no preseed in %s, %v", config, err)
	}
	// The address where LXD listens is not tested here.
	text := strings.Replace(in.LXD.Preseed, "10.99.0.1:8443", storageAddress, 1)
	cmd := exec.CommandContext(t.Context(), "lxd", "init", "--preseed")
	cmd.Env, cmd.Stdin = d.environment(), strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	return strings.Join(strings.Fields(string(out)), " "), err
}

// newLoopDevice makes a disk of that many bytes.
func newLoopDevice(t *testing.T, size int64) string {
	t.Helper()
	file := t.TempDir() + "/disk"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "losetup", "--find", "--show", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() { _ = runCommand("losetup", "--detach", device) })
	return device
}

func hasDeviceMapper() bool { return fileContains("/proc/misc", "device-mapper") }

func hasZFS() bool { return fileContains("/proc/filesystems", "zfs") }

func fileContains(file, word string) bool {
	text, err := os.ReadFile(file)
	return err == nil && strings.Contains(string(text), word)
}

package cloudinit_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/maaslxd/maaslxd/cloudinit"
)

// testTime is a time at which the certificates in testdata are valid.
func testTime() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }

// readTestdata reads a file of testdata.
func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// withTestCertificate returns the host with the certificate in testdata, at a time when it
// is valid.
func withTestCertificate(t testing.TB, h cloudinit.Host) cloudinit.Host {
	t.Helper()
	h.Now = testTime
	if h.TrustedCertificates == nil {
		h.TrustedCertificates = []string{string(readTestdata(t, "current.crt"))}
	}
	return h
}

// goldenHosts are hosts of all kinds, each with a golden file.
func goldenHosts(t testing.TB) map[string]cloudinit.Host {
	t.Helper()
	current, next := string(readTestdata(t, "current.crt")), string(readTestdata(t, "next.crt"))
	byName := map[string]cloudinit.Host{
		"default": {},
		"rotation": {
			TrustedCertificates: []string{current, next},
		},
		"disks": {
			Channel:       "5.21/candidate",
			ListenAddress: "10.0.0.5",
			ListenPort:    9443,
			StoragePools: map[string]cloudinit.StoragePool{
				"fast":  {Driver: cloudinit.ZFS, Source: "/dev/disk/by-id/nvme-Fast_1", Wipe: true},
				"slow":  {Driver: cloudinit.LVM, Source: "/dev/disk/by-id/wwn-0x5000"},
				"spare": {Driver: cloudinit.Btrfs, SizeGB: 20},
			},
			Profile: cloudinit.Profile{Pool: "fast"},
		},
		"existing": {
			StoragePools: map[string]cloudinit.StoragePool{
				"default": {Source: "tank/lxd"},
				"ceph":    {Driver: cloudinit.Ceph, Ceph: &cloudinit.CephPool{Cluster: "ceph", Pool: "lxd", User: "lxd"}},
				"dir":     {Driver: cloudinit.Dir, Source: "/srv/lxd"},
				"vg":      {Driver: cloudinit.LVM, Source: "vg0"},
			},
		},
		"macvlan": {
			Networks: map[string]cloudinit.Network{"lan": {Kind: cloudinit.Macvlan, Parent: "eno1"}},
		},
		"managed": {
			Networks: map[string]cloudinit.Network{
				"br0":    {},
				"lxdbr0": {Kind: cloudinit.Managed, IPv4Address: "10.10.0.1/24", NAT: true},
			},
			Profile: cloudinit.Profile{Network: "lxdbr0"},
		},
		"project": {
			Project: cloudinit.Project{
				Name: "team-a", Description: "Team A's VMs",
				Features: map[string]bool{"images": false, "profiles": false},
				Limits:   map[string]string{"instances": "20", "memory": "64GiB"},
			},
			Profile: cloudinit.Profile{Name: "maas", Config: map[string]string{"limits.cpu": "2"}},
		},
		"extra": {
			Extra: [][]byte{[]byte("#cloud-config\npackages: [htop]\n"), []byte("#!/bin/sh\necho späte Grüße\n")},
		},
	}
	for name, h := range byName {
		byName[name] = withTestCertificate(t, h)
	}
	return byName
}

// keyPair makes a certificate that expires at the given time, and its key.
func keyPair(t testing.TB, notAfter time.Time) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fleet"},
		NotBefore: notAfter.AddDate(-1, 0, 0), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", secret)
}

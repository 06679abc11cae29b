package realmaas

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	lxd "github.com/canonical/lxd/client"
	"github.com/canonical/lxd/shared/api"
)

// LXD reads one LXD, with a client certificate that the LXD trusts.
type LXD struct {
	Address, Certificate, Key string
	// Fingerprint is the SHA-256 of the LXD's server certificate, in
	// hexadecimal. An LXD with another certificate gets no request. Empty means
	// any certificate.
	Fingerprint string
}

// Instance is a VM in an LXD.
type Instance struct {
	Address   string // of the LXD
	Project   string
	Name      string
	Cores     int
	MemoryMiB int64
	Running   bool
	MACs      []string
}

// Pin returns the LXD with the fingerprint of its present certificate, unless
// it has one. So one run always talks to the same LXD.
func (l LXD) Pin(ctx context.Context) (LXD, error) {
	if l.Fingerprint != "" {
		return l, nil
	}
	address, err := url.Parse(l.Address)
	if err != nil {
		return l, fmt.Errorf("cannot reach the LXD at %s: %w", l.Address, err)
	}
	note := func(state tls.ConnectionState) error {
		l.Fingerprint = certificateFingerprint(state)
		return nil
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, VerifyConnection: note, MinVersion: tls.VersionTLS12}} //nolint:gosec // LXD signs its own certificate, which is stored here
	c, err := dialer.DialContext(ctx, "tcp", address.Host)
	if err != nil {
		return l, fmt.Errorf("cannot reach the LXD at %s: %w", l.Address, err)
	}
	return l, c.Close()
}

// certificateFingerprint is the SHA-256 of a server's certificate, as LXD
// prints it.
func certificateFingerprint(state tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 {
		return ""
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	return hex.EncodeToString(sum[:])
}

// checkFingerprint returns an error unless the server's certificate has the
// fingerprint.
func (l LXD) checkFingerprint(state tls.ConnectionState) error {
	if is := certificateFingerprint(state); l.Fingerprint != "" && is != l.Fingerprint {
		return fmt.Errorf("the LXD has the certificate %s, want %s", is, l.Fingerprint)
	}
	return nil
}

// wrappedTransport wraps a transport as LXD's client wants it.
type wrappedTransport struct{ http.RoundTripper }

// Transport is the wrapped transport.
func (t wrappedTransport) Transport() *http.Transport { return t.RoundTripper.(*http.Transport) }

// connect connects to the LXD. LXD signs its own certificate, so connect
// compares the fingerprint.
func (l LXD) connect(ctx context.Context) (lxd.InstanceServer, error) {
	s, err := lxd.ConnectLXDWithContext(ctx, l.Address, &lxd.ConnectionArgs{
		TLSClientCert: l.Certificate, TLSClientKey: l.Key, InsecureSkipVerify: true, SkipGetServer: true,
		TransportWrapper: func(t *http.Transport) lxd.HTTPTransporter {
			t.TLSClientConfig.VerifyConnection = l.checkFingerprint
			return wrappedTransport{t}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cannot look into the LXD at %s: %w", l.Address, err)
	}
	return s, nil
}

// Instances lists the VMs in all projects.
func (l LXD) Instances(ctx context.Context) ([]Instance, error) {
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Disconnect()
	projects, err := s.GetProjectNames()
	if err != nil {
		return nil, fmt.Errorf("cannot look into the LXD at %s: %w", l.Address, err)
	}
	var all []Instance
	for _, project := range projects {
		instances, err := s.UseProject(project).GetInstances(api.InstanceTypeVM)
		if err != nil {
			return nil, fmt.Errorf("cannot look into project %s of the LXD at %s: %w", project, l.Address, err)
		}
		for _, i := range instances {
			all = append(all, l.convertInstance(i, project))
		}
	}
	return all, nil
}

// Bridge is the name of the first bridge, managed or not. It returns an error
// where there is none.
func (l LXD) Bridge(ctx context.Context) (string, error) {
	s, err := l.connect(ctx)
	if err != nil {
		return "", err
	}
	defer s.Disconnect()
	networks, err := s.GetNetworks()
	if err != nil {
		return "", fmt.Errorf("cannot list the networks of the LXD at %s: %w", l.Address, err)
	}
	for _, n := range networks {
		if n.Type == "bridge" {
			return n.Name, nil
		}
	}
	return "", fmt.Errorf("the LXD at %s has no bridge", l.Address)
}

// StoragePools lists the names of the storage pools.
func (l LXD) StoragePools(ctx context.Context) ([]string, error) {
	s, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Disconnect()
	names, err := s.GetStoragePoolNames()
	if err != nil {
		return nil, fmt.Errorf("cannot list the storage pools of the LXD at %s: %w", l.Address, err)
	}
	return names, nil
}

// convertInstance keeps what the tests compare of an instance.
func (l LXD) convertInstance(i api.Instance, project string) Instance {
	out := Instance{Address: l.Address, Project: project, Name: i.Name, Running: i.StatusCode == api.Running}
	out.Cores, _ = strconv.Atoi(i.ExpandedConfig["limits.cpu"]) // a set of cores is not a number
	memory := i.ExpandedConfig["limits.memory"]
	if bytes, err := strconv.ParseInt(strings.TrimSuffix(memory, "B"), 10, 64); err == nil {
		out.MemoryMiB = bytes >> 20
	} else if mib, found := strings.CutSuffix(memory, "MiB"); found {
		out.MemoryMiB, _ = strconv.ParseInt(mib, 10, 64)
	}
	for key, value := range i.ExpandedConfig {
		if strings.HasPrefix(key, "volatile.") && strings.HasSuffix(key, ".hwaddr") && strings.Count(value, ":") == 5 {
			out.MACs = append(out.MACs, value)
		}
	}
	for _, device := range i.ExpandedDevices {
		if mac := device["hwaddr"]; mac != "" {
			out.MACs = append(out.MACs, mac)
		}
	}
	slices.Sort(out.MACs)
	out.MACs = slices.Compact(out.MACs)
	return out
}

// stopTimeoutSeconds is how long LXD may take to stop or delete a VM.
const stopTimeoutSeconds = 120

// RemoveVM stops and deletes a VM by its name and project. It does nothing for
// a VM that is gone.
func (l LXD) RemoveVM(ctx context.Context, project, name string) error {
	s, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Disconnect()
	s = s.UseProject(project)
	if op, err := s.UpdateInstanceState(name, api.InstanceStatePut{Action: "stop", Force: true, Timeout: -1}, ""); err == nil {
		_, _, _ = s.GetOperationWait(op.Get().ID, stopTimeoutSeconds) // it may be off already
	}
	op, err := s.DeleteInstance(name)
	if err == nil {
		_, _, err = s.GetOperationWait(op.Get().ID, stopTimeoutSeconds)
	}
	if err != nil && !api.StatusErrorCheck(err, http.StatusNotFound) {
		return fmt.Errorf("cannot remove instance %s of project %s of the LXD at %s: %w", name, project, l.Address, err)
	}
	return nil
}

// Sweep removes the VMs whose names begin with the prefix, in all projects. It
// returns their names.
func (l LXD) Sweep(ctx context.Context, prefix string) (removed []string, err error) {
	if prefix == "" {
		return nil, fmt.Errorf("cannot sweep the LXD at %s without a prefix", l.Address)
	}
	all, err := l.Instances(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if !strings.HasPrefix(i.Name, prefix) {
			continue
		}
		err = errors.Join(err, l.RemoveVM(ctx, i.Project, i.Name))
		removed = append(removed, "instance "+i.Name)
	}
	return removed, err
}

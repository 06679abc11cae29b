package sim

import (
	"fmt"
	"maps"
	"slices"
)

// LXD is an LXD that listens: one of the model, or one that the user-data of a
// deployed machine has set up.
type LXD struct {
	// Name is that of the model's first host there, or its machine's hostname.
	Name string `json:"name"`
	// Address is host:port.
	Address string `json:"address"`
	Version string `json:"version"`
	// Condition is how it answers; one whose machine is off, or in rescue mode,
	// is unreachable.
	Condition Condition `json:"condition"`
	// MachineID is the system id of the machine that it runs on, as far as MAAS
	// knows one.
	MachineID string `json:"machine_id,omitempty"`
	Cores     int    `json:"cores"`
	MemoryMiB int64  `json:"memory_mib"`
	// StoragePools with their sizes in bytes.
	StoragePools []StoragePoolModel `json:"storage_pools"`
	Projects     []string           `json:"projects"`
	// Subnets are the CIDRs that its bridges are attached to.
	Subnets []string `json:"subnets"`
	// Used is what its instances hold, Peak the most that they ever held.
	Used Use `json:"used"`
	Peak Use `json:"peak"`
	// Trusted are the certificates that it lets in.
	Trusted []TrustedCertificate `json:"trusted"`
	// Listening is where its API is served: host:port, none where only
	// DialContext reaches it.
	Listening []string `json:"listening"`
	// Certificate is what it shows to clients, in PEM.
	Certificate string `json:"certificate"`
}

// TrustedCertificate is a certificate that an LXD lets in.
type TrustedCertificate struct {
	Certificate string `json:"certificate"` // PEM
	// Restricted limits it to Projects.
	Restricted bool     `json:"restricted,omitempty"`
	Projects   []string `json:"projects,omitempty"`
}

// LXDs are the LXDs that there are, by address.
func (s *Sim) LXDs() []LXD {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []LXD{}
	for _, l := range sorted(s.world.lxds) {
		public := l.public()
		public.Listening = s.listeningFor(l)
		out = append(out, public)
	}
	return out
}

func (l *lxdServer) public() LXD {
	out := LXD{
		Name: l.name, Address: l.address, Version: l.version, Condition: l.state(), Cores: l.cores, MemoryMiB: l.memoryMiB,
		StoragePools: slices.Clone(list(l.pools)), Projects: sorted(projectNames(l)), Subnets: []string{}, Trusted: []TrustedCertificate{},
	}
	if shown, err := l.shown(); err == nil {
		out.Certificate = shown.certificate
	}
	out.Used, out.Peak = l.use(), l.peak
	out.Peak.PoolBytes = maps.Clone(l.peak.PoolBytes)
	if l.metal != nil {
		out.MachineID = l.metal.systemID
	} else if l.hostMachine != nil {
		out.MachineID = l.hostMachine.systemID
	}
	for _, n := range l.subnets {
		out.Subnets = append(out.Subnets, n.cidr.String())
	}
	for _, t := range l.trusted {
		if len(certificatesIn(t.certificate)) == 0 {
			continue // stands for the key of a VM host of the model
		}
		out.Trusted = append(out.Trusted, TrustedCertificate{Certificate: t.certificate, Restricted: t.restricted, Projects: slices.Clone(t.projects)})
	}
	return out
}

// SetFirstBoot says how the user-data of a machine ends: "ok", "fails" or
// "never", from now on and each time that it is deployed. One that is under way
// ends so, too; one that never ended begins anew. The message is for the
// machine's events.
func (s *Sim) SetFirstBoot(machine string, outcome FirstBoot, message string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(machine)
	if err != nil {
		return err
	}
	if outcome == "" || !outcome.valid() {
		return fmt.Errorf("outcome %q is none of ok, fails, never, real", outcome)
	}
	waiting := m.boot.pending() || m.bootHeld
	m.firstBoot, m.bootMessage = outcome, message
	if waiting && (m.bootHeld || outcome == BootNever) {
		m.startFirstBoot()
	}
	return nil
}

// isNamed says whether a machine goes by a name: hostname, FQDN or system id.
func (m *machine) isNamed(name string) bool {
	return name == m.hostname || name == m.systemID || name == m.hostname+"."+m.domain.name
}

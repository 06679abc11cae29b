package realmaas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Variables that name a MAAS, and what the suite may use of it.
const (
	URLVariable      = "MAAS_API_URL"
	KeyVariable      = "MAAS_API_KEY"
	CACertVariable   = "MAAS_API_CACERT"
	VMHostVariable   = "MAASLXD_ACC_VM_HOST"
	VMHost2Variable  = "MAASLXD_ACC_VM_HOST2"
	ZoneVariable     = "MAASLXD_ACC_ZONE"
	PoolVariable     = "MAASLXD_ACC_POOL"
	ImageVariable    = "MAASLXD_ACC_IMAGE"
	DriveVariable    = "MAASLXD_ACC_DRIVE"
	MachinesVariable = "MAASLXD_ACC_MACHINES"
	LXDVariable      = "MAASLXD_ACC_LXD"
	LXDCertVariable  = "MAASLXD_ACC_LXD_CERT"
	LXDKeyVariable   = "MAASLXD_ACC_LXD_KEY"
	LXDPinVariable   = "MAASLXD_ACC_LXD_FINGERPRINT"
	ProjectVariable  = "MAASLXD_ACC_LXD_PROJECT"
	IntervalVariable = "MAASLXD_ACC_POLL_INTERVAL"
	ParallelVariable = "MAASLXD_ACC_PARALLEL"
	DeadlineVariable = "MAASLXD_ACC_DEADLINE"
)

// Settings are what the environment says about a real MAAS.
type Settings struct {
	URL, Key string
	CACert   string // PEM of certificates to trust besides the system's; may be empty
	VMHost   string // host for the suite's VMs
	VMHost2  string // a host in another LXD and zone; may be empty
	Zone     string // a zone without VMHost; empty: the suite makes one
	Pool     string // a pool without VMHost; empty: the suite makes one
	Image    string // image to deploy
	Drive    Drive
	Machines []string // hostnames of machines that are lent to the suite
	LXDs     []LXD    // LXDs that the suite can read
	Project  string   // LXD project of the suite's VMs where MAAS does not make them
	Interval time.Duration
	Parallel int           // how many stories run at once
	Deadline time.Duration // time from the start after which no story begins
}

// ReadSettings reads the settings from the environment. They are nil where it
// names no MAAS.
func ReadSettings(getenv func(string) string) (*Settings, error) {
	s := &Settings{
		URL: getenv(URLVariable), Key: getenv(KeyVariable), VMHost: getenv(VMHostVariable), VMHost2: getenv(VMHost2Variable),
		Zone: getenv(ZoneVariable), Pool: getenv(PoolVariable), Image: getenv(ImageVariable),
		Drive: Drive{getenv(DriveVariable)}, Project: getenv(ProjectVariable), Interval: 5 * time.Second, Parallel: 3, Deadline: 24 * time.Hour,
		Machines: splitList(getenv(MachinesVariable)),
	}
	switch {
	case s.URL == "" && s.Key == "":
		return nil, nil
	case s.URL == "" || s.Key == "":
		return nil, fmt.Errorf("set both %s and %s for a real MAAS, or none of them for the simulator", URLVariable, KeyVariable)
	}
	if s.Project == "" {
		s.Project = "default"
	}
	for variable, into := range map[string]*time.Duration{IntervalVariable: &s.Interval, DeadlineVariable: &s.Deadline} {
		text := getenv(variable)
		if text == "" {
			continue
		}
		var err error
		if *into, err = time.ParseDuration(text); err != nil || *into <= 0 {
			return nil, fmt.Errorf("%s: %q is not a duration; write one such as 5s or 12h", variable, text)
		}
	}
	if text := getenv(CACertVariable); text != "" {
		var err error
		if s.CACert, err = pemText(text); err != nil {
			return nil, fmt.Errorf("%s: %w", CACertVariable, err)
		}
	}
	if text := getenv(ParallelVariable); text != "" {
		var err error
		if s.Parallel, err = strconv.Atoi(text); err != nil || s.Parallel < 1 {
			return nil, fmt.Errorf("%s: %q is not a number of stories", ParallelVariable, text)
		}
	}
	return s, s.readLXDs(getenv)
}

// readLXDs reads the addresses of the LXDs and the key pair for them.
func (s *Settings) readLXDs(getenv func(string) string) error {
	addresses := splitList(getenv(LXDVariable))
	if len(addresses) == 0 {
		return nil
	}
	certificate, err := neededPEM(getenv(LXDCertVariable))
	if err != nil {
		return fmt.Errorf("%s: %w", LXDCertVariable, err)
	}
	key, err := neededPEM(getenv(LXDKeyVariable))
	if err != nil {
		return fmt.Errorf("%s: %w", LXDKeyVariable, err)
	}
	pins := splitList(getenv(LXDPinVariable))
	if len(pins) > 0 && len(pins) != len(addresses) {
		return fmt.Errorf("%s names %d certificates, and %s names %d LXDs", LXDPinVariable, len(pins), LXDVariable, len(addresses))
	}
	for n, address := range addresses {
		if !strings.HasPrefix(address, "https://") {
			address = "https://" + address
		}
		l := LXD{Address: address, Certificate: certificate, Key: key}
		if len(pins) > 0 {
			l.Fingerprint = strings.ToLower(strings.ReplaceAll(pins[n], ":", ""))
		}
		s.LXDs = append(s.LXDs, l)
	}
	return nil
}

// Open makes a client for the MAAS, and pins the certificates of the LXDs.
func (s *Settings) Open(ctx context.Context) (*Client, error) {
	c, err := NewClient(s.URL, s.Key)
	if err != nil {
		return nil, err
	}
	if err := c.Trust(s.CACert); err != nil {
		return nil, fmt.Errorf("%s: %w", CACertVariable, err)
	}
	for n, l := range s.LXDs {
		if s.LXDs[n], err = l.Pin(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// neededPEM is [pemText] of a variable that an LXD needs.
func neededPEM(text string) (string, error) {
	if text == "" {
		return "", errors.New("set PEM text or the name of a file: it is needed with " + LXDVariable)
	}
	return pemText(text)
}

// pemText is the PEM text itself, or that in the named file.
func pemText(text string) (string, error) {
	if strings.Contains(text, "-----BEGIN") {
		return text, nil
	}
	data, err := os.ReadFile(text)
	return string(data), err
}

// splitList splits a list at its commas. Spaces may follow them.
func splitList(text string) []string {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// textOr returns the text, or another one where it is empty.
func textOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// Unwrap returns the error itself.
func (e usageError) Unwrap() error { return e.error }

// options are the command line.
type options struct {
	listen      string
	journal     bool
	model       sim.Model
	compare     string // the folder to replay; empty to serve
	record      string // the folder to write; empty to serve
	upstreamURL string // the URL of the MAAS that is recorded
	caFile      string // trusted certificates for that MAAS
	modelGiven  bool   // -model was given
}

// hostFlags describe the hosts that are made where no file describes them.
type hostFlags struct {
	hosts, machines, cores int
	memoryMiB              int64
	storageGB              int64
}

// namesFlag is a comma separated list; an empty text is an empty list.
type namesFlag struct{ target *[]string }

func (n namesFlag) String() string {
	if n.target == nil {
		return ""
	}
	return strings.Join(*n.target, ",")
}

func (n namesFlag) Set(text string) error {
	*n.target = []string{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*n.target = append(*n.target, name)
		}
	}
	return nil
}

// nastyShareFlag sets the share of all random faults but over-commitment, which has a flag
// of its own.
type nastyShareFlag struct{ randomFaults *sim.RandomFaults }

func (s nastyShareFlag) String() string { return "" }

func (s nastyShareFlag) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("%q is not a number from 0 to 1", text)
	}
	nasty := sim.AllRandomFaults(n)
	nasty.Overcommit = s.randomFaults.Overcommit
	*s.randomFaults = nasty
	return nil
}

const usageText = `maassim serves a simulated MAAS with LXD VM hosts until you interrupt it.

	rm -f maas.env
	maassim -hosts 3 -commission 5s -deploy 5s > maas.env &
	until [ -s maas.env ] || ! kill -0 $!; do sleep 0.1; done
	. ./maas.env                 # sets MAAS_API_URL and MAAS_API_KEY

maassim -record DIR -before URL is a proxy that records a MAAS instead, and
maassim -compare DIR replays such a recording and reports where the simulator differs.

Describe a world in a file (-model FILE); flags change it. Control it over HTTP
below /_sim/: GET /_sim/ lists the operations.

Flags:
`

// parseFlags reads the flags: the file first, then the flags that change it.
func parseFlags(args []string, stderr io.Writer) (options, error) {
	o, h, file := options{model: sim.DefaultModel()}, hostFlags{hosts: -1, machines: -1}, ""
	if err := o.newFlagSet(&h, &file, io.Discard).Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printHelp(stderr)
			return o, err
		}
		return o, usageError{fmt.Errorf("%w (maassim -h lists the flags)", err)}
	}
	if file != "" {
		m, err := readModelFile(file)
		if err != nil {
			return o, usageError{fmt.Errorf("-model: %w", err)}
		}
		o.model, o.modelGiven = m, true
	}
	// The second pass changes the model of the file.
	h = hostFlags{hosts: -1, machines: -1}
	flags := o.newFlagSet(&h, &file, io.Discard)
	if err := flags.Parse(args); err != nil {
		return o, usageError{err}
	}
	if flags.NArg() > 0 {
		return o, usageError{fmt.Errorf("%q is not a flag: maassim takes only flags", flags.Arg(0))}
	}
	if err := o.checkMode(); err != nil {
		return o, usageError{err}
	}
	err := h.applyTo(&o.model)
	if file == "" {
		spreadOverZones(&o.model)
	}
	return o, err
}

// checkMode refuses flags that exclude each other.
func (o options) checkMode() error {
	switch {
	case o.record != "" && o.upstreamURL == "":
		return errors.New("-record: name the MAAS with -before URL")
	case o.record == "" && (o.upstreamURL != "" || o.caFile != ""):
		return errors.New("-before and -ca are for -record DIR")
	case o.record != "" && o.compare != "":
		return errors.New("-record and -compare: give only one of them")
	}
	return nil
}

// recordingModel is the model of a recording's world. It is nil where the recording itself
// describes that world.
func (o options) recordingModel() *sim.Model {
	if !o.modelGiven {
		return nil
	}
	return &o.model
}

func readModelFile(name string) (sim.Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return sim.Model{}, err
	}
	defer f.Close()
	m, err := sim.ReadModel(f)
	if err != nil {
		return sim.Model{}, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func printHelp(w io.Writer) {
	var o options
	o.model = sim.DefaultModel()
	h, file := hostFlags{}, ""
	fmt.Fprint(w, usageText)
	flags := o.newFlagSet(&h, &file, w)
	flags.PrintDefaults()
}

// newFlagSet defines the flags. They write into the options.
func (o *options) newFlagSet(h *hostFlags, file *string, w io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("maassim", flag.ContinueOnError)
	f.SetOutput(w)
	f.Usage = func() {}
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` to listen on; port 0 picks one")
	f.BoolVar(&o.journal, "journal", false, "print the calls by route when it ends")
	f.StringVar(&o.compare, "compare", "", "replay the recordings of the folder `DIR`, report how well the simulator matches, and end; -model is their world")
	f.StringVar(&o.record, "record", "", "record the MAAS of -before: pass calls on, and write them into the folder `DIR`, without secrets")
	f.StringVar(&o.upstreamURL, "before", "", "`URL` of the MAAS that -record records, such as https://maas.example:5443/MAAS")
	f.StringVar(&o.caFile, "ca", "", "`FILE` of certificates, in PEM, to trust for the MAAS of -before besides the system's")
	f.StringVar(file, "model", "", "`FILE` that describes the world, in JSON")
	m := &o.model
	f.StringVar(&m.MAASVersion, "version", m.MAASVersion, "`MAAS` version: 3.4 (if empty) to 3.8, or gone for one without VM hosts")
	f.Var(namesFlag{&m.Zones}, "zones", "`names` of availability zones, comma separated")
	f.Var(namesFlag{&m.Pools}, "pools", "`names` of resource pools")
	f.Var(namesFlag{&m.Domains}, "domains", "`names` of DNS domains")
	f.Var(namesFlag{&m.Tags}, "tags", "`names` of machine tags")
	f.Var(namesFlag{&m.Images}, "images", "imported `images` (default ubuntu/jammy,ubuntu/noble)")
	f.StringVar(&m.AdminKey, "admin-key", m.AdminKey, "API `key` of the user admin (default a well-known one)")
	f.StringVar(&m.UserKey, "user-key", m.UserKey, "API `key` of a user without admin rights (default a well-known one)")
	f.Int64Var(&m.Seed, "seed", m.Seed, "`number` that makes names and ids repeatable")
	f.StringVar(&m.LXDListen, "lxd-listen", textOr(m.LXDListen, sim.LXDListenAuto), "`where` LXDs serve their API: auto (a free network of 127.0.0.0/8), a network such as 127.77.0.0/16, ports (each LXD on a port of 127.0.0.1), or off")
	h.addFlags(f)
	addLatencyFlags(f, &m.Latency)
	f.Var(nastyShareFlag{&m.RandomFaults}, "nasty", "`share` of operations that go wrong at random, such as 0.05, for each kind of fault; also a random refresh every ten seconds")
	f.BoolVar(&m.RandomFaults.Overcommit, "over-commit", m.RandomFaults.Overcommit, "compose beyond the ratios of VM hosts and the room of storage pools")
	return f
}

func (h *hostFlags) addFlags(f *flag.FlagSet) {
	f.IntVar(&h.hosts, "hosts", h.hosts, "`number` of VM hosts, spread over the zones, instead of the model's")
	f.IntVar(&h.cores, "cores", 0, "cores of each of them (default 16)")
	f.Int64Var(&h.memoryMiB, "memory", 0, "memory of each in `MiB` (default 65536)")
	f.Int64Var(&h.storageGB, "storage", 0, "storage of each in `GB` (default 500)")
	f.IntVar(&h.machines, "machines", h.machines, "`number` of bare-metal machines instead of the model's")
}

// addLatencyFlags defines a flag for each latency. With a zero latency, one read shows
// each transition.
func addLatencyFlags(f *flag.FlagSet, l *sim.Latency) {
	for name, to := range map[string]struct {
		field *time.Duration
		what  string
	}{
		"call": {&l.Call, "every call"}, "compose": {&l.Compose, "composing"},
		"commission": {&l.Commission, "commissioning"}, "deploy": {&l.Deploy, "deploying"}, "first-boot": {&l.FirstBoot, "running user-data, after Deployed,"},
		"first-boot-most": {&l.FirstBootMost, "the longest first boot, if first boots take random times from -first-boot on,"},
		"release":         {&l.Release, "releasing"}, "power-on": {&l.PowerOn, "powering on"},
		"power-off": {&l.PowerOff, "powering off"}, "refresh": {&l.Refresh, "discovering a VM host"},
		"inventory": {&l.Inventory, "the inventory of a new VM host"}, "delete": {&l.Delete, "deleting a VM"},
	} {
		f.DurationVar(to.field, name, *to.field, "`time` that "+to.what+" takes")
	}
}

// applyTo replaces the model's hosts and machines where flags describe others.
func (h hostFlags) applyTo(m *sim.Model) error {
	shaped := h.cores != 0 || h.memoryMiB != 0 || h.storageGB != 0
	switch {
	case h.hosts < -1:
		return usageError{fmt.Errorf("-hosts: %d is negative", h.hosts)}
	case h.machines < -1:
		return usageError{fmt.Errorf("-machines: %d is negative", h.machines)}
	case h.cores < 0 || h.memoryMiB < 0 || h.storageGB < 0:
		return usageError{errors.New("-cores, -memory and -storage must be positive")}
	case h.memoryMiB > 0 && h.memoryMiB < 1024:
		return usageError{fmt.Errorf("-memory: want at least 1024 MiB, have %d", h.memoryMiB)}
	case shaped && h.hosts < 0:
		return usageError{errors.New("-cores, -memory and -storage need -hosts: give the number of hosts")}
	}
	if h.hosts >= 0 {
		m.Hosts = h.makeHosts(m.Zones)
	}
	if h.machines >= 0 {
		m.Machines = nil
		for i := range h.machines {
			m.Machines = append(m.Machines, sim.MachineModel{Hostname: fmt.Sprintf("metal%d", i+1)})
		}
	}
	return nil
}

// makeHosts makes equal hosts and spreads them over the zones.
func (h hostFlags) makeHosts(zones []string) []sim.HostModel {
	var hosts []sim.HostModel
	for i := range h.hosts {
		host := sim.HostModel{Name: fmt.Sprintf("host%d", i+1), Cores: 16, MemoryMiB: 65536}
		if h.cores > 0 {
			host.Cores = h.cores
		}
		if h.memoryMiB > 0 {
			host.MemoryMiB = h.memoryMiB
		}
		if h.storageGB > 0 {
			host.StoragePools = []sim.StoragePoolModel{{Name: "default", SizeGB: h.storageGB}}
		}
		if len(zones) > 0 {
			host.Zone = zones[i%len(zones)]
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// spreadOverZones moves hosts and machines out of zones that the flags removed, into those
// that remain.
func spreadOverZones(m *sim.Model) {
	zone := func(have string, i int) string {
		switch {
		case slices.Contains(m.Zones, have):
			return have
		case len(m.Zones) == 0:
			return "default"
		}
		return m.Zones[i%len(m.Zones)]
	}
	for i := range m.Hosts {
		m.Hosts[i].Zone = zone(m.Hosts[i].Zone, i)
	}
	for i := range m.Machines {
		m.Machines[i].Zone = zone(m.Machines[i].Zone, i)
	}
}

package boot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/lxd/daemon"
)

// snap installs, refreshes and lists LXD.
func (c *command) snap() error {
	flags, args := splitFlags(c.args)
	b := c.shell.lxd
	if len(args) < 2 || args[1] != "lxd" {
		return nil
	}
	switch args[0] {
	case "install":
		return b.install(flags["--channel"], false)
	case "refresh":
		return b.install(flags["--channel"], true)
	case "list", "info":
		if b.Version == "" {
			return errors.New("error: no matching snaps installed")
		}
		c.print("Name  Version  Rev  Tracking  Publisher  Notes\nlxd  " + b.Version + "  1  " + cmp.Or(b.channel, "latest/stable") + "  canonical  -\n")
	}
	return nil
}

// lxd initialises LXD: "lxd init --preseed" from standard input, or "lxd init --auto".
func (c *command) lxd() error {
	flags, args := splitFlags(c.args)
	_, preseed := flags["--preseed"]
	_, auto := flags["--auto"]
	switch {
	case len(args) == 0 || args[0] != "init":
		c.shell.lxd.ensureInstalled()
		return nil
	case preseed:
		return c.shell.lxd.runPreseed(c.stdin())
	case auto:
		port, _ := strconv.Atoi(flags["--network-port"])        // 0: the default
		loop, _ := strconv.Atoi(flags["--storage-create-loop"]) // 0: the default
		return c.shell.lxd.runInitAuto(lxdInit{
			NetworkAddress: flags["--network-address"], NetworkPort: port, StorageBackend: flags["--storage-backend"],
			StoragePool: flags["--storage-pool"], CreateDevice: flags["--storage-create-device"], CreateLoopGB: int64(loop),
			TrustPassword: flags["--trust-password"],
		})
	}
	return nil
}

// lxc manages LXD. A command of lxc that is not known does nothing and succeeds.
func (c *command) lxc() error {
	b := c.shell.lxd
	b.ensureInstalled()
	flags, args := splitFlags(c.args)
	args = append(args, "", "", "", "")
	switch strings.Join(args[:2], " ") {
	case "project create":
		if slices.Contains(b.Projects, args[2]) {
			return fmt.Errorf("failed creating project: project %q already exists", args[2])
		}
		return b.addProject(args[2])
	case "project show":
		return c.runQuery("/1.0/projects/" + args[2])
	case "storage create":
		config := pairsOf(args[4:])
		if slices.ContainsFunc(b.Pools, func(p daemon.StoragePool) bool { return p.Name == args[2] }) {
			return errors.New("the storage pool already exists")
		}
		return b.AddPool(args[2], args[3], config)
	case "storage show":
		return c.runQuery("/1.0/storage-pools/" + args[2])
	case "network create":
		b.Networks = append(b.Networks, args[2])
		b.Config["network "+args[2]] = pairsOf(args[3:])
	case "config set", "config get", "config trust":
		return c.lxcConfig(flags, args)
	case "profile edit":
		var p lxdProfile
		if err := yaml.Unmarshal([]byte(c.stdin()), &p); err != nil {
			return err
		}
		p.Name, p.Project = args[2], cmp.Or(flags["--project"], "default")
		return b.applyProfile(p)
	}
	if args[0] == "query" {
		return c.runQuery(args[1])
	}
	return nil
}

// lxcConfig reads and writes the server's configuration and its trusted certificates.
func (c *command) lxcConfig(flags map[string]string, args []string) error {
	b := c.shell.lxd
	switch args[1] {
	case "set":
		key, value, joined := strings.Cut(args[2], "=")
		if !joined {
			value = args[3]
		}
		return b.setServerKey(key, value)
	case "get":
		if args[2] == "core.https_address" && b.Listen != "" {
			c.print(b.Listen + "\n")
		}
	case "trust":
		return c.runConfigTrust(args[2], flags, args[3])
	}
	return nil
}

// pairsOf reads words like "key=value".
func pairsOf(words []string) map[string]string {
	config := map[string]string{}
	for _, word := range words {
		if key, value, isPair := strings.Cut(word, "="); isPair {
			config[key] = value
		}
	}
	return config
}

// runConfigTrust adds certificates from a file or standard input, or lists them.
func (c *command) runConfigTrust(verb string, flags map[string]string, file string) error {
	b := c.shell.lxd
	if verb == "list" {
		for _, t := range b.Trusted {
			c.print("client," + daemon.Fingerprint(t.Certificate)[:12] + "\n")
		}
		return nil
	}
	if verb != "add" && verb != "add-certificate" {
		return nil
	}
	text, exists := c.readFile(cmp.Or(file, "-"))
	if !exists {
		return fmt.Errorf("open %s: no such file or directory", file)
	}
	_, restricted := flags["--restricted"]
	return b.addTrust(daemon.CertificatesIn(text), restricted, projectsIn(flags["--projects"]))
}

// projectsIn splits names at commas.
func projectsIn(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// runQuery reads an object of LXD's API as "lxc query" prints it.
func (c *command) runQuery(address string) error {
	b := c.shell.lxd
	place, _, _ := strings.Cut(strings.TrimPrefix(address, "/1.0"), "?")
	kind, name, _ := strings.Cut(strings.Trim(place, "/"), "/")
	var found any
	switch {
	case kind == "instances" && name == "":
		found = []any{}
	case kind == "storage-pools":
		if i := slices.IndexFunc(b.Pools, func(p daemon.StoragePool) bool { return p.Name == name }); i >= 0 {
			found = map[string]any{"name": name, "driver": b.Pools[i].Driver, "status": "Created"}
		}
	case kind == "projects" && slices.Contains(b.Projects, name):
		found = map[string]any{"name": name}
	case kind == "networks" && (slices.Contains(b.Networks, name) || slices.Contains(b.Interfaces, name)):
		found = map[string]any{"name": name, "managed": slices.Contains(b.Networks, name)}
	case kind == "profiles":
		found = b.queryProfile(name, address)
	case kind == "certificates":
		for _, t := range b.Trusted {
			if print := daemon.Fingerprint(t.Certificate); name != "" && strings.HasPrefix(print, name) {
				found = map[string]any{"fingerprint": print, "restricted": t.Restricted, "projects": append([]string{}, t.Projects...)}
			}
		}
	case kind == "":
		found = map[string]any{"auth": "trusted", "api_version": "1.0"}
	}
	if found == nil {
		return errors.New("not found")
	}
	text, err := json.MarshalIndent(found, "", "\t")
	c.print(string(text) + "\n")
	return err
}

// queryProfile is a profile, or nil if it does not exist. Each project has "default".
func (b *LXD) queryProfile(name, address string) any {
	project := "default"
	if _, after, found := strings.Cut(address, "project="); found {
		project, _, _ = strings.Cut(after, "&")
	}
	devices, known := b.Profiles[project+"/"+name]
	if !known && !(name == "default" && slices.Contains(b.Projects, project)) {
		return nil
	}
	if devices == nil {
		devices = map[string]map[string]any{}
	}
	return map[string]any{"name": name, "devices": devices}
}

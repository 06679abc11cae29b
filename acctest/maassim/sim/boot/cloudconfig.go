package boot

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"mvdan.cc/sh/v3/syntax"
)

// cloudConfig has the keys of cloud-configs that concern LXD. If several parts have a key,
// the last part decides on its whole value.
type cloudConfig struct {
	LXD        *lxdSection `yaml:"lxd"`
	WriteFiles []struct {
		Path     string `yaml:"path"`
		Content  string `yaml:"content"`
		Encoding string `yaml:"encoding"`
	} `yaml:"write_files"`
	Snap *struct {
		Commands yaml.Node `yaml:"commands"`
	} `yaml:"snap"`
	RunCmd yaml.Node `yaml:"runcmd"`
}

// lxdSection is cloud-init's own section for LXD: a preseed or init.
type lxdSection struct {
	Preseed yaml.Node `yaml:"preseed"`
	Init    *lxdInit  `yaml:"init"`
}

// lxdInit has the arguments of "lxd init --auto".
type lxdInit struct {
	NetworkAddress string `yaml:"network_address"`
	NetworkPort    int    `yaml:"network_port"`
	StorageBackend string `yaml:"storage_backend"`
	StoragePool    string `yaml:"storage_pool"`
	CreateDevice   string `yaml:"storage_create_device"`
	CreateLoopGB   int64  `yaml:"storage_create_loop"`
	TrustPassword  string `yaml:"trust_password"`
}

// RunUserData runs user-data in cloud-init's order: boothooks, files, snaps, the lxd
// section, then scripts and runcmd. A failed step is noted, and the next ones run. Vendor
// data comes before user-data, so the user's value of a key counts.
func (b *LXD) RunUserData(data ...[]byte) {
	var parts []part
	for _, text := range data {
		found, err := readParts(text)
		if err != nil {
			b.AddProblem("cannot read the user-data: %v", err)
		}
		parts = append(parts, found...)
	}
	config, err := mergeConfigs(parts)
	if err != nil {
		b.AddProblem("cloud-config: %v", err)
	}
	b.runScripts(parts, hookPart, "/var/lib/cloud/instance/boothooks/part-")
	b.writeFiles(config)
	if config.Snap != nil {
		b.runCommands(config.Snap.Commands)
	}
	if config.LXD != nil {
		if err := b.runLXDSection(config.LXD); err != nil {
			b.AddProblem("module lxd failed: %v", err)
		}
	}
	b.runScripts(parts, scriptPart, "/var/lib/cloud/instance/scripts/part-")
	b.runCommands(config.RunCmd)
}

func (b *LXD) runScripts(parts []part, kind partKind, name string) {
	for i, p := range parts {
		if p.kind == kind {
			b.runScript(fmt.Sprintf("%s%03d", name, i+1), p.text)
		}
	}
}

// mergeConfigs merges the cloud-configs into one. It ignores those that it cannot read.
func mergeConfigs(parts []part) (config cloudConfig, bad error) {
	keys := map[string]yaml.Node{}
	for _, p := range parts {
		own := map[string]yaml.Node{}
		if p.kind != configPart {
			continue
		}
		if err := yaml.Unmarshal([]byte(p.text), &own); err != nil {
			bad = err
			continue
		}
		maps.Copy(keys, own)
	}
	text, err := yaml.Marshal(keys)
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	return config, errors.Join(bad, err)
}

func (b *LXD) writeFiles(config cloudConfig) {
	for _, f := range config.WriteFiles {
		content := f.Content
		if f.Encoding == "b64" || f.Encoding == "base64" {
			data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(content), ""))
			if err != nil {
				b.AddProblem("write_files: %s: %v", f.Path, err)
				continue
			}
			content = string(data)
		}
		b.files[f.Path] = content
	}
}

func (b *LXD) runLXDSection(s *lxdSection) error {
	switch {
	case s.Preseed.Kind != 0 && s.Init != nil:
		return errors.New("preseed and init are both given")
	case s.Preseed.Kind != 0 && (s.Preseed.Kind != yaml.ScalarNode || s.Preseed.ShortTag() != "!!str"):
		return errors.New("preseed is not a text")
	case s.Preseed.Kind != 0:
		return b.runPreseed(s.Preseed.Value)
	case s.Init != nil:
		return b.runInitAuto(*s.Init)
	}
	b.ensureInstalled()
	return nil
}

// runInitAuto is "lxd init --auto": one pool, "default", and an address.
func (b *LXD) runInitAuto(in lxdInit) error {
	b.ensureInstalled()
	next := b.clone()
	config := map[string]string{"source": in.CreateDevice}
	if in.CreateLoopGB > 0 {
		config["size"] = fmt.Sprintf("%dGiB", in.CreateLoopGB)
	}
	if in.CreateDevice == "" {
		config["source"] = in.StoragePool
	}
	if err := next.AddPool("default", cmp.Or(in.StorageBackend, "dir"), config); err != nil {
		return err
	}
	if in.NetworkAddress != "" {
		address := "[" + strings.Trim(in.NetworkAddress, "[]") + "]:" + strconv.Itoa(cmp.Or(in.NetworkPort, 8443))
		if err := next.listenOn(address); err != nil {
			return err
		}
	}
	if in.TrustPassword != "" {
		if err := next.setServerKey("core.trust_password", in.TrustPassword); err != nil {
			return err
		}
	}
	*b = *next
	return nil
}

// runCommands runs runcmd, or a snap's commands, as one script. Each command is a line of
// shell or a list of words. The commands are a list or the values of a map.
func (b *LXD) runCommands(n yaml.Node) {
	var script strings.Builder
	for i, item := range n.Content {
		switch {
		case n.Kind == yaml.MappingNode && i%2 == 0: // a name
		case item.Kind == yaml.ScalarNode:
			script.WriteString(item.Value + "\n")
		case item.Kind == yaml.SequenceNode:
			for _, word := range item.Content {
				quoted, err := syntax.Quote(word.Value, syntax.LangBash)
				if err != nil {
					b.AddProblem("runcmd: %v", err)
				}
				script.WriteString(quoted + " ")
			}
			script.WriteString("\n")
		}
	}
	if script.Len() > 0 {
		b.runScript("/var/lib/cloud/instance/scripts/runcmd", script.String())
	}
}

// FilesAndCommands returns what a first boot does with the user-data of a machine: the
// files that it writes, by path, and the commands of its runcmd, one a line.
func FilesAndCommands(userData []byte, hostname string) (files map[string]string, commands []string, err error) {
	parts, err := readParts(userData)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the user-data of %s: %w", hostname, err)
	}
	config, err := mergeConfigs(parts)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the cloud-config of %s: %w", hostname, err)
	}
	b := &LXD{files: map[string]string{}}
	b.writeFiles(config)
	if len(b.Problems) > 0 {
		return nil, nil, fmt.Errorf("%s: %s", hostname, strings.Join(b.Problems, "; "))
	}
	return b.files, commandLines(config.RunCmd), nil
}

// commandLines are the commands of runcmd: each a line of shell, or words.
func commandLines(n yaml.Node) []string {
	lines := []string{}
	for _, item := range n.Content {
		words := []string{item.Value}
		if item.Kind == yaml.SequenceNode {
			words = nil
			for _, word := range item.Content {
				words = append(words, word.Value)
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

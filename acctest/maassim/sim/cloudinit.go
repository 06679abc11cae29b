package sim

import (
	"fmt"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CloudInit is what cloud-init makes of a machine's user-data.
type CloudInit struct {
	Files    map[string]string // by path, as write_files has them
	Commands []string          // of runcmd, one line each
}

// CloudInit reads the user-data that the machine was deployed with, as its
// first boot does: MIME or not, compressed or not, several cloud-configs in
// one. The machine is named by system id or hostname.
func (s *Sim) CloudInit(machine string) (CloudInit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.machineFor(machine)
	if err != nil {
		return CloudInit{}, err
	}
	parts, err := readParts(m.userData)
	if err != nil {
		return CloudInit{}, fmt.Errorf("cannot read the user-data of %s: %w", m.hostname, err)
	}
	config, err := mergeConfigs(parts)
	if err != nil {
		return CloudInit{}, fmt.Errorf("cannot read the cloud-config of %s: %w", m.hostname, err)
	}
	b := &bootedLXD{files: map[string]string{}}
	b.writeFiles(config)
	if len(b.problems) > 0 {
		return CloudInit{}, fmt.Errorf("%s: %s", m.hostname, strings.Join(b.problems, "; "))
	}
	return CloudInit{Files: maps.Clone(b.files), Commands: commandLines(config.RunCmd)}, nil
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

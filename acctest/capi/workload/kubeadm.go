package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// plan is what kubeadm does by a machine's user-data.
type plan struct {
	initialise    bool // kubeadm init; false: kubeadm join
	controlPlane  bool
	endpoint      string // host:port
	port          int    // where the machine's own API server listens
	clusterConfig string // the ClusterConfiguration; of init only
	version       string // of Kubernetes; of init only
	serverNames   []string
	token         string
	caHashes      []string
	node          registration
	files         map[string]string
}

// registration is kubeadm's NodeRegistrationOptions.
type registration struct {
	Name             string          `json:"name"`
	Taints           *[]corev1.Taint `json:"taints"`
	KubeletExtraArgs []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"kubeletExtraArgs"`
}

// kubeadmConfig has those fields of kubeadm's configurations, version v1beta4,
// whose effects are visible from outside.
type kubeadmConfig struct {
	Kind                 string       `json:"kind"`
	APIVersion           string       `json:"apiVersion"`
	ControlPlaneEndpoint string       `json:"controlPlaneEndpoint"`
	KubernetesVersion    string       `json:"kubernetesVersion"`
	NodeRegistration     registration `json:"nodeRegistration"`
	LocalAPIEndpoint     apiEndpoint  `json:"localAPIEndpoint"`
	APIServer            struct {
		CertSANs []string `json:"certSANs"`
	} `json:"apiServer"`
	ControlPlane *struct {
		LocalAPIEndpoint apiEndpoint `json:"localAPIEndpoint"`
	} `json:"controlPlane"`
	Discovery struct {
		BootstrapToken *struct {
			Token             string   `json:"token"`
			APIServerEndpoint string   `json:"apiServerEndpoint"`
			CACertHashes      []string `json:"caCertHashes"`
		} `json:"bootstrapToken"`
	} `json:"discovery"`
}

type apiEndpoint struct {
	BindPort int `json:"bindPort"`
}

const (
	kubeadmVersion = "kubeadm.k8s.io/v1beta4"
	// defaultPort is where an API server listens by default.
	defaultPort = 6443
)

// errNoKubeadm is the error of a machine that becomes no node of any cluster.
var errNoKubeadm = errors.New("no command runs kubeadm")

// kubeadmCommand finds the kubeadm command and the file of its configuration.
var kubeadmCommand = regexp.MustCompile(`\bkubeadm\s+(init|join)\s.*--config[ =](\S+)`)

// readPlan finds the command and its configuration. It fills in the host name
// where cloud-init would.
func readPlan(c sim.CloudInit, hostname string) (plan, error) {
	for _, line := range c.Commands {
		command := kubeadmCommand.FindStringSubmatch(line)
		if command == nil {
			continue
		}
		text, ok := c.Files[command[2]]
		if !ok {
			return plan{}, fmt.Errorf("kubeadm %s reads %s, which no part of the user-data writes", command[1], command[2])
		}
		p := plan{initialise: command[1] == "init", files: c.Files, port: defaultPort}
		if err := p.readConfig(fillHostname(text, hostname)); err != nil {
			return plan{}, fmt.Errorf("%s: %w", command[2], err)
		}
		return p, p.completeAndCheck(hostname)
	}
	return plan{}, errNoKubeadm
}

// fillHostname fills in the host name in cloud-init's templates for it.
func fillHostname(text, hostname string) string {
	return regexp.MustCompile(`\{\{\s*(ds\.meta_data\.local_hostname|ds\.meta_data\.hostname|v1\.local_hostname|local_hostname)\s*\}\}`).
		ReplaceAllLiteralString(text, hostname)
}

// readConfig reads all documents of a configuration.
func (p *plan) readConfig(text string) error {
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewBufferString(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var config kubeadmConfig
		if err := yaml.Unmarshal(document, &config); err != nil {
			return err
		}
		if config.Kind == "" {
			continue // an empty document
		}
		if config.APIVersion != kubeadmVersion {
			return fmt.Errorf("%s is %s; only %s is understood", config.Kind, config.APIVersion, kubeadmVersion)
		}
		p.applyConfig(config, string(document))
	}
}

// applyConfig stores the fields of one document.
func (p *plan) applyConfig(c kubeadmConfig, text string) {
	switch c.Kind {
	case "ClusterConfiguration":
		p.clusterConfig, p.endpoint, p.version, p.serverNames = text, c.ControlPlaneEndpoint, c.KubernetesVersion, c.APIServer.CertSANs
	case "InitConfiguration":
		p.node, p.controlPlane, p.port = c.NodeRegistration, true, valueOr(c.LocalAPIEndpoint.BindPort, defaultPort)
	case "JoinConfiguration":
		p.node = c.NodeRegistration
		if c.ControlPlane != nil {
			p.controlPlane, p.port = true, valueOr(c.ControlPlane.LocalAPIEndpoint.BindPort, defaultPort)
		}
		if t := c.Discovery.BootstrapToken; t != nil {
			p.token, p.endpoint, p.caHashes = t.Token, t.APIServerEndpoint, t.CACertHashes
		}
	}
}

// completeAndCheck fills in defaults, and returns the errors that kubeadm would
// give.
func (p *plan) completeAndCheck(hostname string) error {
	p.node.Name = valueOr(p.node.Name, hostname)
	if strings.Contains(p.node.Name, "{{") {
		return fmt.Errorf("the node's name %q has a template that cloud-init does not fill", p.node.Name)
	}
	if _, _, err := net.SplitHostPort(p.endpoint); err != nil {
		return fmt.Errorf("the control plane's endpoint: %w", err)
	}
	if !p.initialise && (p.token == "" || len(p.caHashes) == 0) {
		return errors.New("kubeadm join has no bootstrap token, or no hash of the authority")
	}
	return nil
}

// kubeletArg is the value of an argument of the kubelet.
func (p *plan) kubeletArg(name string) string {
	for _, arg := range p.node.KubeletExtraArgs {
		if arg.Name == name {
			return arg.Value
		}
	}
	return ""
}

// failsOnSwap reports whether the kubelet refuses to run with swap, which is
// its default.
func (p *plan) failsOnSwap() bool { return p.kubeletArg("fail-swap-on") != "false" }

// nodeLabels are the labels that the kubelet gives its node.
func (p *plan) nodeLabels() map[string]string {
	labels := map[string]string{corev1.LabelHostname: p.node.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	for pair := range strings.SplitSeq(p.kubeletArg("node-labels"), ",") {
		if name, value, found := strings.Cut(pair, "="); found {
			labels[name] = value
		}
	}
	return labels
}

// apiServerAddress is the address of the machine's own API server, host:port.
func (p *plan) apiServerAddress(ip string) string { return net.JoinHostPort(ip, strconv.Itoa(p.port)) }

// valueOr is the value, or otherwise where the value is zero.
func valueOr[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

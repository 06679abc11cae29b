package cloudinit

import yaml "gopkg.in/yaml.v2"

// The names of our parts. cloud-init runs scripts in the order of their names. So our
// script runs before scripts that a user named, and before runcmd.
const (
	boothookName = "maaslxd-lxd.sh"
	configName   = "maaslxd-lxd.yaml"
	scriptName   = "00-maaslxd-host.sh"
)

// cloudConfig is the #cloud-config part. It has no other key, because each key would
// replace that of MAAS's vendor-data.
type cloudConfig struct {
	LXD struct {
		Preseed string `yaml:"preseed"`
	} `yaml:"lxd"`
}

// Render returns the user-data as one MIME multi-part. The same host gives the same bytes.
// The error is that of Validate, or a MergeError about Extra.
func (h Host) Render() ([]byte, error) {
	preseed, err := h.Preseed()
	if err != nil {
		return nil, err
	}
	text, err := marshalChecked(preseed)
	if err != nil {
		return nil, err
	}
	var config cloudConfig
	config.LXD.Preseed = string(text)
	body, err := yaml.Marshal(config)
	if err != nil {
		return nil, err
	}
	h = h.withDefaults()
	script, err := h.finishScript()
	if err != nil {
		return nil, err
	}
	ours := writeMultipart(
		part{kind: kindBoothook, name: boothookName, body: []byte(h.installScript())},
		part{kind: kindConfig, name: configName, body: append([]byte("#cloud-config\n"), body...)},
		part{kind: kindScript, name: scriptName, body: []byte(script)},
	)
	return Merge(ours, h.Extra...)
}

package record

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
)

// harmlessFieldsList, routeWordsList and knownWordsList are the words of sets below.
//
//go:embed harmlessfields.txt
var harmlessFieldsList string

//go:embed routewords.txt
var routeWordsList string

//go:embed knownwords.txt
var knownWordsList string

// secretWords occur in the names of fields and settings that hold secrets.
const secretWords = `pass|pwd|secret|token|cred|macaroon|cookie|session|csrf|oauth|private|k_g|apikey|sshkey|keydata`

// secretKeys matches the names of such fields. Short words count as whole words only.
var secretKeys = regexp.MustCompile(`(?i)(` + secretWords + `|auth|sign(ature|ed)|keyring_data|(^|[^a-z])(keys?|pin|pw|otp|psk|salt|kg|community)([^a-z]|$)|[a-z]keys?\d*$)`)

// nonSecretFields have names like secrets but hold none.
var nonSecretFields = wordSet(`authoritative has_password key_id keyring_filename keysource primary_key sort_key storage_key tag_key`)

// IsSecret tells whether a field of this name, or a setting of MAAS, is secret.
func IsSecret(key string) bool {
	return secretKeys.MatchString(key) && !nonSecretFields[key] || strings.HasPrefix(key, "vcenter_")
}

// freeTextFields are fields in which people write anything.
var freeTextFields = wordSet(`description comment note message first_name last_name kernel_opts serial
	system_serial chassis_serial mainboard_serial wwn id_path content script definition`)

// ownerDataFields are objects whose keys and values the clients choose.
var ownerDataFields = wordSet(`owner_data workload_annotations`)

// constraintFields are fields in which a client asks for disks or interfaces, as in
// root:8(fast),data:10 and eth0:space=dmz. constraintWords are MAAS's own words in them.
var (
	constraintFields = wordSet(`storage interfaces`)
	constraintWords  = wordSet(`cidr fabric fabric_class hostname ip mode name space subnet subnet_cidr tag vid vlan`)
)

// sentenceFields are fields in which MAAS writes sentences.
var sentenceFields = wordSet(`status_message status_info error type used_for`)

// harmlessFields are the fields and settings whose values reveal nothing of a site, except
// for names and addresses in them. The values of all other fields are left out, because
// another MAAS's API may have secrets that this list does not know.
var harmlessFields = wordSet(harmlessFieldsList)

// nameKinds are fields that hold names which the site chose, with the kind of each name.
var nameKinds = map[string]string{
	"hostname": "host", "fqdn": "host", "instance_name": "host", "pod": "vmhost", "not_pod": "vmhost", "vm_host": "vmhost",
	"username": "user", "owner": "user", "user": "user", "power_user": "user", "zone": "zone", "not_in_zone": "zone",
	"pool": "pool", "not_in_pool": "pool", "resource_pool": "pool", "domain": "domain", "project": "project",
	"tags": "tag", "not_tags": "tag", "tag": "tag", "tag_names": "tag", "vlan": "vlan", "fabric": "fabric", "not_fabrics": "fabric",
	"space": "space", "subnet": "subnet", "not_subnets": "subnet", "storage_pool": "storage", "vg_name": "group", "agent_name": "agent",
}

// namedRoutes are collections, and objects in answers, whose rows have a name that the
// site chose.
var namedRoutes = map[string]string{
	"machines": "host", "nodes": "host", "devices": "host", "rackcontrollers": "host", "regioncontrollers": "host",
	"vm-hosts": "vmhost", "pods": "vmhost", "pod": "vmhost", "zones": "zone", "zone": "zone",
	"resourcepools": "pool", "resourcepool": "pool", "pool": "pool", "tags": "tag", "users": "user",
	"domains": "domain", "domain": "domain", "fabrics": "fabric", "spaces": "space", "subnets": "subnet", "subnet": "subnet",
	"vlans": "vlan", "vlan": "vlan", "dnsresources": "host", "storage_pools": "storage", "interfaces": "nic", "interface_set": "nic",
	"boot_interface": "nic", "boot-resources": "image",
}

// secretParameters are MAAS's own parameters that hold secrets.
var secretParameters = wordSet(`key license_key password power_pass token token_key token_secret user_data value certificate`)

// routeWords are the other words of MAAS's paths.
var routeWords = wordSet(routeWordsList)

// generatedNamePattern matches names that MAAS, LXD and Linux generate. They reveal
// nothing of a site.
var generatedNamePattern = regexp.MustCompile(`^((fabric|vlan|space|subnet)-\d+|(eth|bond|br|maasbr|lxdbr|virbr|tap|veth|lo|ib|eno|ens|enp|enx|en|wlan|wlp)[0-9a-f]*(s\d+)?(f\d+)?(np?\d+)?(\.\d+)?|ethmaas\d+|(sd|vd|hd|xvd)[a-z]+\d*|(nvme|md|dm-|bcache)\d+[np0-9]*|\d+rpm)$`)

// knownWords are never names of a site, in whatever field they are.
var knownWords = wordSet(knownWordsList)

// wordSet are the words of a text.
func wordSet(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}

// leftOutOperations are operations and collections whose answers consist of secrets,
// scripts or logs. No part of these answers is kept.
var leftOutOperations = wordSet(`details get_curtin_config get_preseed get_token download files scripts results commissioning-results
	installation-results commissioning-scripts describe`)

// isLeftOut tells whether the whole answer must be left out.
func isLeftOut(op, collection string) bool {
	return leftOutOperations[op] || leftOutOperations[collection]
}

// mediaTypes are the content types of requests that a recording keeps.
var mediaTypes = []string{
	"application/json", "application/octet-stream", "application/x-www-form-urlencoded", "application/xml", "multipart/form-data", "text/plain",
}

func mediaName(media string) string {
	if slices.Contains(mediaTypes, media) {
		return media
	}
	return "<CONTENT TYPE>"
}

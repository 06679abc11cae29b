variable "hosts" {
  description = "Machines to make LXD hosts of, by hostname, and the availability zone of each."
  type        = map(object({ zone = string }))
  nullable    = false
  default = {
    node1 = { zone = "az1" }
    node2 = { zone = "az1" }
    node3 = { zone = "az2" }
  }

  validation {
    condition     = length(var.hosts) > 0
    error_message = "A fleet has at least one host."
  }
}

variable "vms" {
  description = "How many VMs to spread over the hosts."
  type        = number
  nullable    = false
  default     = 6

  validation {
    condition     = var.vms >= 0 && floor(var.vms) == var.vms
    error_message = "vms is a whole number, and not negative."
  }
}

variable "size" {
  description = "Cores and memory of each VM."
  type        = object({ cores = number, memory_mib = number })
  nullable    = false
  default     = { cores = 2, memory_mib = 4096 }
}

variable "image" {
  description = "Image of hosts and VMs, as MAAS lists it."
  type        = string
  nullable    = false
  default     = "ubuntu/noble"
}

variable "storage" {
  description = "Storage pool of the hosts: its driver, and a size in GB or a disk."
  type = object({
    driver  = optional(string, "zfs")
    size_gb = optional(number)
    source  = optional(string)
  })
  nullable = false
  default  = { size_gb = 100 }
}

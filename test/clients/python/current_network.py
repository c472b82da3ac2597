"""The current SDKs of Alibaba Cloud for Python: an instance in a VPC of its own, with a public address."""

import json
import os
import time

from alibabacloud_ecs20140526 import models as ecs_models
from alibabacloud_ecs20140526.client import Client as EcsClient
from alibabacloud_tea_openapi.models import Config
from alibabacloud_vpc20160428 import models as vpc_models
from alibabacloud_vpc20160428.client import Client as VpcClient

region = os.environ["ALIBABA_CLOUD_REGION_ID"]
zone = region + "-a"
config = Config(
    access_key_id=os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    access_key_secret=os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
    endpoint=os.environ["EGS_HOST"],
    protocol="http",
    region_id=region,
)
ecs, vpc = EcsClient(config), VpcClient(config)
deadline = time.monotonic() + 30


def ecs_request(name, **values):
    return getattr(ecs_models, name + "Request")(**values)


def vpc_request(name, **values):
    return getattr(vpc_models, name + "Request")(**values)


def wait_until(holds):
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


def delete(call, request):
    """What the instance was in goes when the last trace of it has gone, a little after it is not shown."""

    def is_gone():
        try:
            call(request)
        except Exception as error:
            if not str(error.code).startswith("DependencyViolation"):
                raise
            return False
        return True

    wait_until(is_gone)


vpc_id = vpc.create_vpc(vpc_request("CreateVpc", region_id=region, cidr_block="172.16.0.0/12")).body.vpc_id
switch = vpc.create_vswitch(
    vpc_request("CreateVSwitch", region_id=region, zone_id=zone, vpc_id=vpc_id, cidr_block="172.16.1.0/24")
).body.v_switch_id
group = ecs.create_security_group(
    ecs_request("CreateSecurityGroup", region_id=region, vpc_id=vpc_id)
).body.security_group_id
ecs.authorize_security_group(
    ecs_request(
        "AuthorizeSecurityGroup",
        region_id=region,
        security_group_id=group,
        permissions=[
            ecs_models.AuthorizeSecurityGroupRequestPermissions(
                ip_protocol="tcp", port_range="22/22", source_cidr_ip="0.0.0.0/0", priority="1", policy="accept"
            )
        ],
    )
)
rules = ecs.describe_security_group_attribute(
    ecs_request("DescribeSecurityGroupAttribute", region_id=region, security_group_id=group)
).body.permissions.permission
instance_id = ecs.run_instances(
    ecs_request(
        "RunInstances",
        region_id=region,
        image_id="debian_12_x64_egs",
        instance_type="ecs.t6-c1m1.large",
        v_switch_id=switch,
        security_group_id=group,
    )
).body.instance_id_sets.instance_id_set[0]


def describe():
    request = ecs_request("DescribeInstances", region_id=region, instance_ids=json.dumps([instance_id]))
    return ecs.describe_instances(request).body.instances.instance


def eip_status():
    request = vpc_request("DescribeEipAddresses", region_id=region, allocation_id=eip.allocation_id)
    return vpc.describe_eip_addresses(request).body.eip_addresses.eip_address[0].status


wait_until(lambda: describe()[0].status == "Running")
eip = vpc.allocate_eip_address(vpc_request("AllocateEipAddress", region_id=region, bandwidth="5")).body
binding = {"region_id": region, "allocation_id": eip.allocation_id, "instance_id": instance_id}
vpc.associate_eip_address(vpc_request("AssociateEipAddress", **binding))
wait_until(lambda: eip_status() == "InUse")
instance = describe()[0]

vpc.unassociate_eip_address(vpc_request("UnassociateEipAddress", **binding))
wait_until(lambda: eip_status() == "Available")
vpc.release_eip_address(vpc_request("ReleaseEipAddress", region_id=region, allocation_id=eip.allocation_id))
ecs.delete_instance(ecs_request("DeleteInstance", instance_id=instance_id, force=True))
wait_until(lambda: not describe())
delete(ecs.delete_security_group, ecs_request("DeleteSecurityGroup", region_id=region, security_group_id=group))
delete(vpc.delete_vswitch, vpc_request("DeleteVSwitch", region_id=region, v_switch_id=switch))
delete(vpc.delete_vpc, vpc_request("DeleteVpc", region_id=region, vpc_id=vpc_id))
listed = vpc.describe_vpcs(vpc_request("DescribeVpcs", region_id=region, vpc_id=vpc_id)).body

print(
    json.dumps(
        {
            "rules": [[rule.port_range, rule.source_cidr_ip] for rule in rules],
            "network": [instance.vpc_attributes.vpc_id == vpc_id, instance.vpc_attributes.v_switch_id == switch],
            "groups": instance.security_group_ids.security_group_id == [group],
            "publicAddress": instance.eip_address.ip_address == eip.eip_address,
            "left": listed.total_count,
        }
    )
)

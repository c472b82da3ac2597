"""The current SDK of Alibaba Cloud for Python: V3 signatures."""

import json
import os
import time

from alibabacloud_ecs20140526 import models
from alibabacloud_ecs20140526.client import Client
from alibabacloud_tea_openapi.models import Config

region = os.environ["ALIBABA_CLOUD_REGION_ID"]
client = Client(
    Config(
        access_key_id=os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
        access_key_secret=os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
        endpoint=os.environ["EGS_HOST"],
        protocol="http",
        region_id=region,
    )
)


def describe(instance_id):
    request = models.DescribeInstancesRequest(region_id=region, instance_ids=json.dumps([instance_id]))
    return client.describe_instances(request).body.instances.instance


launched = client.run_instances(
    models.RunInstancesRequest(
        region_id=region,
        image_id="debian_12_x64_egs",
        instance_type="ecs.t6-c1m1.large",
        instance_name="python",
        tag=[models.RunInstancesRequestTag(key="from", value="python")],
    )
)
instance_id = launched.body.instance_id_sets.instance_id_set[0]
deadline = time.monotonic() + 30
while describe(instance_id)[0].status != "Running" and time.monotonic() < deadline:
    time.sleep(0.05)
instance = describe(instance_id)[0]

try:
    client.delete_instance(models.DeleteInstanceRequest(instance_id=instance_id))
    refused = None
except Exception as error:
    refused = error.code
client.delete_instance(models.DeleteInstanceRequest(instance_id=instance_id, force=True))
while describe(instance_id) and time.monotonic() < deadline:
    time.sleep(0.05)

print(
    json.dumps(
        {
            "name": instance.instance_name,
            "status": instance.status,
            "tags": [[tag.tag_key, tag.tag_value] for tag in instance.tags.tag],
            "refused": refused,
            "left": len(describe(instance_id)),
        }
    )
)

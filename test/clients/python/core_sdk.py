"""The older core SDK of Alibaba Cloud for Python, as Ansible's modules use it: V1 signatures."""

import json
import os

from aliyunsdkcore.acs_exception.exceptions import ServerException
from aliyunsdkcore.client import AcsClient
from aliyunsdkcore.request import CommonRequest

client = AcsClient(
    os.environ["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    os.environ["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
    os.environ["ALIBABA_CLOUD_REGION_ID"],
)


def call(action, method="POST", **parameters):
    request = CommonRequest(domain=os.environ["EGS_HOST"], version="2014-05-26", action_name=action)
    request.set_protocol_type("http")
    request.set_method(method)
    for name, value in parameters.items():
        request.add_query_param(name, value)
    return json.loads(client.do_action_with_exception(request))


try:
    call("StopInstance", InstanceId="i-nothing")
    refused = None
except ServerException as error:
    refused = [error.get_http_status(), error.get_error_code(), bool(error.get_request_id())]

print(
    json.dumps(
        {
            "byPost": [each["RegionId"] for each in call("DescribeRegions")["Regions"]["Region"]],
            "byGet": [each["RegionId"] for each in call("DescribeRegions", "GET")["Regions"]["Region"]],
            "refused": refused,
        }
    )
)

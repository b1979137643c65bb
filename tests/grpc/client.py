# A client of the gRPC server by Debian's python3-grpcio. usage: client.py HOST:PORT [draining]
# SPDX-License-Identifier: MIT
import struct
import sys

import grpc
import open_inference_pb2 as oip
import open_inference_pb2_grpc as oip_grpc
import tensorflow_pb2 as tf
import tensorflow_serving_pb2 as tfs
import tensorflow_serving_pb2_grpc as tfs_grpc

channel = grpc.insecure_channel(sys.argv[1])
draining = sys.argv[2:] == ["draining"]


def varint_fields(data):
    """The numbers of a message that has only small ones: {field: value}."""
    return {data[i] >> 3: data[i + 1] for i in range(0, len(data), 2)}


def health(service):
    # HealthCheckRequest{service=1} and HealthCheckResponse{status=1}, without their .proto.
    name = service.encode()
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    return varint_fields(call(b"\x0a" + bytes([len(name)]) + name)).get(1, 0)


def expect(is_so, what):
    if not is_so:
        sys.exit(f"failed: {what}")


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def tensor(content):
    values = [1.0, 2.0, 3.0, 4.0]
    shape = tf.TensorShapeProto(dim=[tf.TensorShapeProto.Dim(size=s) for s in (1, 4)])
    proto = tf.TensorProto(dtype=tf.DT_FLOAT, tensor_shape=shape)
    if content:
        proto.tensor_content = struct.pack("<4f", *values)
    else:
        proto.float_val.extend(values)
    return proto


def check_predictions():
    stub = tfs_grpc.PredictionServiceStub(channel)
    for content in (False, True):
        request = tfs.PredictRequest(model_spec=tfs.ModelSpec(name="m"),
                                     inputs={"x": tensor(content)})
        answer = stub.Predict(request, timeout=10)
        (output,) = answer.outputs.values()
        got = struct.unpack("<4f", output.tensor_content) if content else tuple(output.float_val)
        expect(got == (2.0, 4.0, 6.0, 8.0), f"Predict: {answer}")
        expect(answer.model_spec.version.value == 3, "the version")
    request = tfs.PredictRequest(model_spec=tfs.ModelSpec(name="other"))
    code, text = code_of(lambda: stub.Predict(request))
    expect(code == grpc.StatusCode.NOT_FOUND and "Latest(other)" in text, f"{code} {text}")


def check_open_inference():
    stub = oip_grpc.GRPCInferenceServiceStub(channel)
    expect(stub.ServerLive(oip.ServerLiveRequest()).live, "live")
    expect(stub.ServerReady(oip.ServerReadyRequest()).ready != draining, "ready")
    given = oip.ModelInferRequest.InferInputTensor(name="x", datatype="FP32", shape=[1, 4])
    request = oip.ModelInferRequest(model_name="m", id="7", inputs=[given],
                                    raw_input_contents=[struct.pack("<4f", 1, 2, 3, 4)])
    answer = stub.ModelInfer(request)
    expect(answer.id == "7", "id")
    expect(struct.unpack("<4f", answer.raw_output_contents[0]) == (2, 4, 6, 8), f"{answer}")


def check_states():
    stub = tfs_grpc.ModelServiceStub(channel)
    states = stub.GetModelStatus(tfs.GetModelStatusRequest(model_spec=tfs.ModelSpec(name="m")))
    expect(states.model_version_status[0].state == tfs.ModelVersionStatus.AVAILABLE, "state")
    import time
    wanted = 2 if draining else 1
    for name in ("", "tensorflow.serving.PredictionService", "PredictionService"):
        for _ in range(50):
            if health(name) == wanted:
                break
            time.sleep(0.1)
        expect(health(name) == wanted, f"health of '{name}'")
    code, _ = code_of(lambda: health("unknown"))
    expect(code == grpc.StatusCode.NOT_FOUND, "health of an unknown service")


def check_reflection():
    # ServerReflectionRequest{list_services=7: ""}; the answer holds the names as texts.
    call = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
    (answer,) = list(call(iter([b"\x3a\x00"])))
    for name in (b"tensorflow.serving.PredictionService", b"inference.GRPCInferenceService"):
        expect(name in answer, f"reflection of {name}")


check_predictions()
check_open_inference()
check_states()
check_reflection()
print("all answered")

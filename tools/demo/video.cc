// SPDX-License-Identifier: MIT
#include "tools/demo/video.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/error.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

namespace camshaft::demo {

struct VideoWriter::State {
  std::string path;
  AVFormatContext* format = nullptr;
  AVCodecContext* codec = nullptr;
  AVStream* stream = nullptr;
  AVFrame* frame = nullptr;
  AVPacket* packet = nullptr;
  SwsContext* scaler = nullptr;
  int64_t next = 0;

  ~State() {
    sws_freeContext(scaler);
    av_packet_free(&packet);
    av_frame_free(&frame);
    avcodec_free_context(&codec);
    if (format != nullptr) {
      avio_closep(&format->pb);
      avformat_free_context(format);
    }
  }
};

namespace {

base::Status av_failure(const std::string& path, const char* what, int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = "";
  av_strerror(error, text, sizeof text);
  return base::fail(base::Code::kIo, "demo.video", "%s: %s failed: %s", path.c_str(), what, text);
}

const AVCodec* find_encoder() {
  for (const char* name : {"libx264", "libopenh264", "mpeg4"}) {
    if (const AVCodec* codec = avcodec_find_encoder_by_name(name)) return codec;
  }
  return nullptr;
}

}  // namespace

VideoWriter::VideoWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
VideoWriter::~VideoWriter() = default;

base::Result<std::unique_ptr<VideoWriter>> VideoWriter::open(const std::string& path, int width,
                                                             int height, int frames_per_second) {
  av_log_set_level(AV_LOG_ERROR);
  auto state = std::make_unique<State>();
  state->path = path;
  const AVCodec* encoder = find_encoder();
  if (encoder == nullptr) {
    return base::fail(base::Code::kUnsupported, "demo.video",
                      "FFmpeg here has no encoder for H.264 or MPEG-4: run tools/setup.sh");
  }
  int error = avformat_alloc_output_context2(&state->format, nullptr, nullptr, path.c_str());
  if (error < 0) return av_failure(path, "choosing a format", error);
  state->stream = avformat_new_stream(state->format, nullptr);
  state->codec = avcodec_alloc_context3(encoder);
  AVCodecContext& codec = *state->codec;
  codec.width = width;
  codec.height = height;
  codec.pix_fmt = AV_PIX_FMT_YUV420P;
  codec.time_base = {1, frames_per_second};
  codec.framerate = {frames_per_second, 1};
  codec.gop_size = 2 * frames_per_second;
  codec.bit_rate = 4'000'000;
  codec.thread_count = 1;
  if ((state->format->oformat->flags & AVFMT_GLOBALHEADER) != 0) {
    codec.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  }
  av_opt_set(codec.priv_data, "preset", "veryfast", 0);
  error = avcodec_open2(state->codec, encoder, nullptr);
  if (error < 0) return av_failure(path, "opening the encoder", error);
  avcodec_parameters_from_context(state->stream->codecpar, state->codec);
  state->stream->time_base = codec.time_base;
  error = avio_open(&state->format->pb, path.c_str(), AVIO_FLAG_WRITE);
  if (error < 0) return av_failure(path, "opening the file", error);
  error = avformat_write_header(state->format, nullptr);
  if (error < 0) return av_failure(path, "writing the header", error);
  state->frame = av_frame_alloc();
  state->frame->format = codec.pix_fmt;
  state->frame->width = width;
  state->frame->height = height;
  error = av_frame_get_buffer(state->frame, 0);
  if (error < 0) return av_failure(path, "allocating a frame", error);
  state->packet = av_packet_alloc();
  state->scaler = sws_getContext(width, height, AV_PIX_FMT_RGB24, width, height, codec.pix_fmt,
                                 SWS_BILINEAR, nullptr, nullptr, nullptr);
  return std::unique_ptr<VideoWriter>(new VideoWriter(std::move(state)));
}

base::Status VideoWriter::add(const roadnet::Picture& picture) {
  CAMSHAFT_CHECK(picture.width == state_->codec->width && picture.height == state_->codec->height);
  int error = av_frame_make_writable(state_->frame);
  if (error < 0) return av_failure(state_->path, "taking a frame", error);
  const uint8_t* rows[] = {picture.rgb.data()};
  const int strides[] = {3 * picture.width};
  sws_scale(state_->scaler, rows, strides, 0, picture.height, state_->frame->data,
            state_->frame->linesize);
  state_->frame->pts = state_->next++;
  error = avcodec_send_frame(state_->codec, state_->frame);
  if (error < 0) return av_failure(state_->path, "encoding", error);
  return drain();
}

base::Status VideoWriter::drain() {
  while (true) {
    int error = avcodec_receive_packet(state_->codec, state_->packet);
    if (error == AVERROR(EAGAIN) || error == AVERROR_EOF) return base::ok();
    if (error < 0) return av_failure(state_->path, "encoding", error);
    av_packet_rescale_ts(state_->packet, state_->codec->time_base, state_->stream->time_base);
    state_->packet->stream_index = state_->stream->index;
    error = av_interleaved_write_frame(state_->format, state_->packet);
    if (error < 0) return av_failure(state_->path, "writing", error);
  }
}

base::Status VideoWriter::finish() {
  int error = avcodec_send_frame(state_->codec, nullptr);
  if (error < 0) return av_failure(state_->path, "encoding", error);
  CAMSHAFT_TRY(drain());
  error = av_write_trailer(state_->format);
  if (error < 0) return av_failure(state_->path, "ending the file", error);
  return base::ok();
}

}  // namespace camshaft::demo

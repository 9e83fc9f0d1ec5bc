"""Tiny models of many more architectures than `kit` has: whether each is seen as its own eager form says.

    python -m tests.interop.zoo [NAME ...]

prints the table of docs/interop.md.
"""

import math
import sys
import warnings
from dataclasses import dataclass

import torch

from tests.interop import kit

POOL = {
    "vocab_size": kit.VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "max_position_embeddings": 64,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "d_model": 16,
    "n_layer": 2,
    "n_layers": 2,
    "n_head": 4,
    "n_heads": 4,
    "n_embd": 16,
    "n_positions": 64,
    "n_ctx": 64,
    "n_inner": 17,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 17,
    "decoder_ffn_dim": 17,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "d_kv": 4,
    "d_ff": 17,
    "d_inner": 17,
    "embedding_size": 16,
    "ffn_hidden_size": 17,
    "type_vocab_size": 2,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "emb_dim": 16,
    "dim": 16,
    "hidden_dim": 17,
    "image_size": 16,
    "patch_size": 4,
    "dff": 17,
    "word_embed_proj_dim": 16,
    "ffn_dim": 17,
    "attention_probs_dropout_prob": 0.0,
    "rotary_dim": 4,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 4,
    "v_head_dim": 4,
    "kv_lora_rank": 8,
    "q_lora_rank": 8,
    "num_experts": 2,
    "num_local_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 16,
    "n_routed_experts": 2,
    "partial_rotary_factor": 1.0,
    "num_encoder_layers": 2,
    "src_vocab_size": kit.VOCABULARY,
    "tgt_vocab_size": kit.VOCABULARY,
    "embedding_dim": 16,
    "depth": 2,
    "layer_norm_eps": 1e-5,
}


def tiny(kind, **more):
    """A configuration with small sizes for whatever it has."""
    known = dir(kind()) if not more.pop("bare", False) else []
    names = {*getattr(kind, "attribute_map", {})}
    names |= {name for name, one in vars(kind).items() if isinstance(one, property)}
    own = {name: value for name, value in POOL.items() if name in known and name not in names}
    return kind(**{**own, **more})


def image(size=16, rows=1):
    chance = torch.Generator().manual_seed(1)
    return {"pixel_values": torch.randn(rows, 3, size, size, generator=chance)}


def sound(length=400):
    return {"input_values": torch.randn(1, length, generator=torch.Generator().manual_seed(1))}


def features(bins=8, length=24):
    chance = torch.Generator().manual_seed(1)
    return {"input_features": torch.randn(1, length, bins, generator=chance)}


READS = {
    "albert": "AlbertModel",
    "bert-generation": "BertGenerationEncoder",
    "camembert": "CamembertModel",
    "convbert": "ConvBertModel",
    "data2vec-text": "Data2VecTextModel",
    "deberta": "DebertaModel",
    "deberta-v2": "DebertaV2Model",
    "ernie": "ErnieModel",
    "esm": "EsmModel",
    "flaubert": "FlaubertModel",
    "ibert": "IBertModel",
    "layoutlm": "LayoutLMModel",
    "longformer": "LongformerModel",
    "big_bird": "BigBirdModel",
    "luke": "LukeModel",
    "megatron-bert": "MegatronBertModel",
    "mobilebert": "MobileBertModel",
    "modernbert": "ModernBertModel",
    "nystromformer": "NystromformerModel",
    "rembert": "RemBertModel",
    "roberta-prelayernorm": "RobertaPreLayerNormModel",
    "roc_bert": "RoCBertModel",
    "roformer": "RoFormerModel",
    "splinter": "SplinterModel",
    "squeezebert": "SqueezeBertModel",
    "xlm": "XLMModel",
    "xlm-roberta": "XLMRobertaModel",
    "xlm-roberta-xl": "XLMRobertaXLModel",
    "xmod": "XmodModel",
    "yoso": "YosoModel",
    "canine": "CanineModel",
    "fnet": "FNetModel",
    "funnel": "FunnelModel",
    "mra": "MraModel",
    "xlnet": "XLNetModel",
    "tapas": "TapasModel",
    "clip_text": "CLIPTextModel",
    "siglip_text": "SiglipTextModel",
    "nomic_bert": "NomicBertModel",
    "eurobert": "EuroBertModel",
}
CONTINUES = {
    "apertus": "ApertusForCausalLM",
    "biogpt": "BioGptForCausalLM",
    "bloom": "BloomForCausalLM",
    "codegen": "CodeGenForCausalLM",
    "cohere": "CohereForCausalLM",
    "ctrl": "CTRLLMHeadModel",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "falcon": "FalconForCausalLM",
    "gemma": "GemmaForCausalLM",
    "gemma3": "Gemma3ForCausalLM",
    "glm": "GlmForCausalLM",
    "gpt-oss": "GptOssForCausalLM",
    "gpt_bigcode": "GPTBigCodeForCausalLM",
    "gpt_neo": "GPTNeoForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "gptj": "GPTJForCausalLM",
    "granite": "GraniteForCausalLM",
    "mistral": "MistralForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "mpt": "MptForCausalLM",
    "nemotron": "NemotronForCausalLM",
    "olmo": "OlmoForCausalLM",
    "olmo2": "Olmo2ForCausalLM",
    "openai-gpt": "OpenAIGPTLMHeadModel",
    "opt": "OPTForCausalLM",
    "persimmon": "PersimmonForCausalLM",
    "phi": "PhiForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "recurrent_gemma": "RecurrentGemmaForCausalLM",
    "smollm3": "SmolLM3ForCausalLM",
    "stablelm": "StableLmForCausalLM",
    "starcoder2": "Starcoder2ForCausalLM",
    "xglm": "XGLMForCausalLM",
    "mamba": "MambaForCausalLM",
    "rwkv": "RwkvForCausalLM",
    "modernbert-decoder": "ModernBertDecoderForCausalLM",
    "jamba": "JambaForCausalLM",
    "diffllama": "DiffLlamaForCausalLM",
    "cohere2": "Cohere2ForCausalLM",
    "granitemoe": "GraniteMoeForCausalLM",
    "helium": "HeliumForCausalLM",
    "olmoe": "OlmoeForCausalLM",
    "gpt_neox_japanese": "GPTNeoXJapaneseForCausalLM",
    "phimoe": "PhimoeForCausalLM",
    "ernie4_5": "Ernie4_5ForCausalLM",
    "glm4": "Glm4ForCausalLM",
    "exaone4": "Exaone4ForCausalLM",
    "arcee": "ArceeForCausalLM",
    "bitnet": "BitNetForCausalLM",
    "olmo3": "Olmo3ForCausalLM",
    "seed_oss": "SeedOssForCausalLM",
    "trocr": "TrOCRForCausalLM",
    "afmoe": "AfmoeForCausalLM",
    "cwm": "CwmForCausalLM",
    "doge": "DogeForCausalLM",
    "ernie4_5_moe": "Ernie4_5_MoeForCausalLM",
    "exaone_moe": "ExaoneMoeForCausalLM",
    "falcon_h1": "FalconH1ForCausalLM",
    "flex_olmo": "FlexOlmoForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "granitemoeshared": "GraniteMoeSharedForCausalLM",
    "hunyuan_v1_dense": "HunYuanDenseV1ForCausalLM",
    "jais2": "Jais2ForCausalLM",
    "jetmoe": "JetMoeForCausalLM",
    "lfm2": "Lfm2ForCausalLM",
    "minimax": "MiniMaxForCausalLM",
    "minimax_m2": "MiniMaxM2ForCausalLM",
    "ministral": "MinistralForCausalLM",
    "nanochat": "NanoChatForCausalLM",
    "olmo_hybrid": "OlmoHybridForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "solar_open": "SolarOpenForCausalLM",
    "vaultgemma": "VaultGemmaForCausalLM",
}
WRITES = {
    "bigbird_pegasus": "BigBirdPegasusForConditionalGeneration",
    "blenderbot": "BlenderbotForConditionalGeneration",
    "blenderbot-small": "BlenderbotSmallForConditionalGeneration",
    "fsmt": "FSMTForConditionalGeneration",
    "led": "LEDForConditionalGeneration",
    "longt5": "LongT5ForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration",
    "mt5": "MT5ForConditionalGeneration",
    "mvp": "MvpForConditionalGeneration",
    "nllb-moe": "NllbMoeForConditionalGeneration",
    "pegasus": "PegasusForConditionalGeneration",
    "pegasus_x": "PegasusXForConditionalGeneration",
    "plbart": "PLBartForConditionalGeneration",
    "prophetnet": "ProphetNetForConditionalGeneration",
    "switch_transformers": "SwitchTransformersForConditionalGeneration",
    "t5gemma": "T5GemmaForConditionalGeneration",
    "umt5": "UMT5ForConditionalGeneration",
}
SEES = {
    "beit": "BeitModel",
    "deit": "DeiTModel",
    "dinov2": "Dinov2Model",
    "swin": "SwinModel",
    "segformer": "SegformerModel",
    "vit_mae": "ViTMAEModel",
    "vit_msn": "ViTMSNModel",
    "yolos": "YolosModel",
    "clip_vision": "CLIPVisionModel",
    "siglip_vision": "SiglipVisionModel",
    "data2vec-vision": "Data2VecVisionModel",
    "pvt": "PvtModel",
    "swinv2": "Swinv2Model",
    "ijepa": "IJepaModel",
    "dinov3_vit": "DINOv3ViTModel",
    "dinov2_with_registers": "Dinov2WithRegistersModel",
    "blip_vision": "BlipVisionModel",
    "dpt": "DPTModel",
    "poolformer": "PoolFormerModel",
    "mlcd": "MLCDVisionModel",
    "pixio": "PixioModel",
    "vitdet": "VitDetModel",
}
HEARS = {
    "wav2vec2": "Wav2Vec2Model",
    "hubert": "HubertModel",
    "wavlm": "WavLMModel",
    "unispeech": "UniSpeechModel",
    "data2vec-audio": "Data2VecAudioModel",
    "sew": "SEWModel",
    "speech_to_text": "Speech2TextForConditionalGeneration",
    "moonshine": "MoonshineForConditionalGeneration",
    "speecht5": "SpeechT5ForSpeechToText",
    "wav2vec2-conformer": "Wav2Vec2ConformerModel",
    "sew-d": "SEWDModel",
    "unispeech-sat": "UniSpeechSatModel",
}
SMALL_EARS = {
    "conv_dim": (8, 8),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0.0,
    "conv_bias": False,
}
MORE = {
    "albert": {"embedding_size": 16},
    "canine": {
        "upsampling_kernel_size": 2,
        "downsampling_rate": 2,
        "local_transformer_stride": 4,
        "num_hash_buckets": 16,
    },
    "convbert": {"conv_kernel_size": 3},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_buckets": 8,
    },
    "flaubert": {"n_words": kit.VOCABULARY},
    "xlm": {"n_words": kit.VOCABULARY, "n_langs": 1},
    "funnel": {"block_sizes": [1, 1], "d_head": 4, "num_decoder_layers": 1, "d_inner": 17},
    "longformer": {"attention_window": 4},
    "led": {
        "attention_window": 4,
        "max_encoder_position_embeddings": 64,
        "max_decoder_position_embeddings": 64,
    },
    "big_bird": {"attention_type": "original_full"},
    "bigbird_pegasus": {"attention_type": "original_full"},
    "luke": {"entity_vocab_size": 11, "entity_emb_size": 8},
    "mobilebert": {"intra_bottleneck_size": 16, "embedding_size": 16, "true_hidden_size": 16},
    "modernbert": {
        "global_attn_every_n_layers": 2,
        "local_attention": 4,
        "cls_token_id": 3,
        "sep_token_id": 4,
    },
    "modernbert-decoder": {
        "global_attn_every_n_layers": 2,
        "local_attention": 4,
        "cls_token_id": 3,
        "sep_token_id": 4,
    },
    "nystromformer": {"num_landmarks": 64, "segment_means_seq_len": 64},
    "rembert": {"input_embedding_size": 8},
    "roc_bert": {"enable_pronunciation": False, "enable_shape": False},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "xlnet": {"d_inner": 17},
    "esm": {"mask_token_id": 3},
    "gpt_neo": {
        "attention_types": [[["global", "local"], 1]],
        "window_size": 3,
        "intermediate_size": 16,
        "hidden_size": 16,
        "num_layers": 2,
        "num_heads": 4,
    },
    "gpt-oss": {
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 3,
        "head_dim": 4,
    },
    "gemma3": {
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 3,
        "head_dim": 4,
    },
    "squeezebert": {
        "q_groups": 1,
        "k_groups": 1,
        "v_groups": 1,
        "post_attention_groups": 1,
        "intermediate_groups": 1,
        "output_groups": 1,
    },
    "falcon": {"new_decoder_architecture": False},
    "persimmon": {"partial_rotary_factor": 0.5},
    "phi": {"partial_rotary_factor": 0.5},
    "stablelm": {"partial_rotary_factor": 0.5},
    "glm": {"partial_rotary_factor": 0.5, "head_dim": 4, "pad_token_id": 1},
    "gptj": {"rotary_dim": 4},
    "codegen": {"rotary_dim": 4},
    "recurrent_gemma": {"attention_window_size": 4, "lru_width": 16, "num_hidden_layers": 3},
    "deepseek_v3": {
        "num_key_value_heads": 4,
        "head_dim": 4,
        "n_group": 1,
        "topk_group": 1,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
    },
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
    "fsmt": {"langs": ["en", "de"]},
    "prophetnet": {
        "num_encoder_attention_heads": 4,
        "num_decoder_attention_heads": 4,
        "hidden_size": 16,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "ngram": 2,
    },
    "t5gemma": {"bare": True},
    "switch_transformers": {"num_experts": 2},
    "nllb-moe": {"num_experts": 2},
    "longt5": {"local_radius": 3, "encoder_attention_type": "local"},
    "segformer": {
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
        "num_attention_heads": [2, 4],
        "num_encoder_blocks": 2,
        "sr_ratios": [2, 1],
        "patch_sizes": [3, 3],
        "strides": [2, 2],
        "mlp_ratios": [2, 2],
    },
    "pvt": {
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
        "num_attention_heads": [2, 4],
        "num_encoder_blocks": 2,
        "sequence_reduction_ratios": [2, 1],
        "patch_sizes": [4, 2],
        "strides": [4, 2],
        "mlp_ratios": [2, 2],
    },
    "swin": {
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [2, 4],
        "window_size": 2,
        "patch_size": 2,
    },
    "swinv2": {
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [2, 4],
        "window_size": 2,
        "patch_size": 2,
    },
    "yolos": {"image_size": [16, 16], "num_detection_tokens": 3},
    "vit_mae": {
        "mask_ratio": 0.0,
        "decoder_num_hidden_layers": 1,
        "decoder_num_attention_heads": 2,
        "decoder_hidden_size": 8,
    },
    "speech_to_text": {
        "input_feat_per_channel": 8,
        "conv_channels": 8,
        "max_source_positions": 40,
        "max_target_positions": 40,
        "num_conv_layers": 1,
        "conv_kernel_sizes": (3,),
    },
    "mpt": {"max_seq_len": 64},
    "ctrl": {"dff": 17},
    "bloom": {"hidden_size": 16},
}
KINDS = {**READS, **CONTINUES, **WRITES, **SEES, **HEARS}


def configuration(name):
    import transformers as hf

    kind = getattr(hf, KINDS[name])
    own = dict(SMALL_EARS) if name in HEARS and name not in ("speech_to_text", "moonshine") else {}
    if name == "t5gemma":
        part = tiny(hf.T5GemmaModuleConfig) if hasattr(hf, "T5GemmaModuleConfig") else None
        sizes = {k: v for k, v in POOL.items() if part is not None and hasattr(part, k)}
        return kind, kind.config_class(encoder=sizes, decoder=sizes, vocab_size=kit.VOCABULARY)
    known = dir(kind.config_class())
    own = {key: value for key, value in own.items() if key in known}
    return kind, tiny(kind.config_class, **{**own, **MORE.get(name, {})})


def inputs_of(name):
    if name in WRITES:
        return kit.writing()
    if name == "vit_mae":  # it leaves patches out by chance
        return {**image(), "noise": torch.arange(16.0)[None]}
    if name in SEES:
        return image()
    if name == "speech_to_text":
        return {**features(), "decoder_input_ids": kit.text(1, 5)}
    if name == "speecht5":
        return {**sound(2000), "decoder_input_ids": kit.text(1, 5)}
    if name == "moonshine":
        return {**sound(2000), "decoder_input_ids": kit.text(1, 5)}
    return sound() if name in HEARS else kit.reading()


LARGE = ("mt5", "umt5", "siglip_vision", "siglip_text")  # their own numbers are large enough
EAGER = ("umt5",)  # in transformers 5.17.0 its fused form gives other outputs than its eager one
SCORES = ("prophetnet", "squeezebert")  # what they give as attentions are scores: no softmax yet
BANDS = ("longformer", "led")  # what they give is a band: offsets in the place of keys
# What is no attention, or has none: said so, and what was tried.
REFUSED = ("yoso", "fnet", "mra", "mamba", "rwkv", "poolformer")


def made(name, implementation=None):
    """A model of this kind, its numbers drawn by one seed; large, so that weights are far from even."""
    kind, config = configuration(name)
    torch.manual_seed(7)
    more = {} if implementation is None else {"attn_implementation": implementation}
    model = kind._from_config(config, **more).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(1.0 if name in LARGE else 3.0)
    return model, inputs_of(name)


@dataclass(frozen=True)
class Compared:
    """Attentions that were seen, maps that the model itself gives, and how far the two are apart."""

    seen: int
    given: int
    apart: float  # infinite where a map was not seen
    changed: float  # by watching, in the output


@torch.no_grad()
def compared(name):
    """What is seen beside what the model's own eager form gives."""
    import regard

    model, inputs = made(name, "eager" if name in EAGER else None)
    before = model(**inputs)[0]
    with regard.watch(model) as seen:
        during = model(**inputs)[0]
    found = [call.weights for path in seen for call in seen[path]]
    expected = given_by(name)
    if name == "wavlm":  # it gives the mean of its heads, in the place of each
        found = [one.mean(1, keepdim=True).expand_as(one) for one in found]
    if name == "vitdet":  # it folds its heads into the batch
        found = [one.transpose(0, 1) for one in found]
    if (
        name == "minimax"
    ):  # of its lightning attention it gives the state, which is no map of tokens
        expected = [one for one in expected if one.shape[2:] == (7, 7)]
    if name in ("gemma3", "modernbert"):  # a padded query that sees padding alone goes on otherwise
        found, expected = ([one[:1] for one in some] for some in (found, expected))
    apart = max((nearest(one, found) for one in expected), default=math.inf)
    return Compared(len(found), len(expected), apart, float((before - during).abs().max()))


def given_by(name):
    """The maps of the eager form; of models that have no other, of the only one."""
    try:
        model, inputs = made(name, "eager")
    except ValueError:
        model, inputs = made(name)
    output = model(**inputs, output_attentions=True)
    kinds = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    maps = [one for kind in kinds for one in (getattr(output, kind, None) or ())]
    maps = [one for one in maps if isinstance(one, torch.Tensor) and one.dim() == 4]
    if name in SCORES:
        return [
            one if torch.allclose(one.sum(-1), torch.ones(())) else one.softmax(-1) for one in maps
        ]
    return [dense(one) if name in BANDS and one.shape[2:] == (7, 5) else one for one in maps]


def dense(band):
    """Keys in the place of offsets from -2 to 2."""
    whole = band.new_zeros(*band.shape[:3], band.shape[2])
    for query in range(band.shape[2]):
        for offset in range(-2, 3):
            if 0 <= query + offset < band.shape[2]:
                whole[:, :, query, query + offset] = band[:, :, query, offset + 2]
    return whole


def nearest(weights, found):
    """How far the nearest of the maps seen is; rows that may see nothing are left out."""
    rows, keys = weights.shape[2:]
    apart = [math.inf]
    for one in found:
        own = one[:, :, :rows, :keys] if one.shape[2] == one.shape[3] else one  # some models pad
        if own.shape == weights.shape:
            real = (weights.sum(-1, keepdim=True) > 0) & (own.sum(-1, keepdim=True) > 0)
            apart.append(float(((own - weights) * real).abs().max()))
    return min(apart)


def main():
    """A line of the table for each."""
    warnings.simplefilter("ignore")
    from transformers.utils import logging

    logging.set_verbosity_error()
    for name in sys.argv[1:] or KINDS:
        try:
            one = compared(name)
            said = f"{one.seen} | {one.given} | {one.apart:.1e} | {one.changed:g}"
        except Exception as fault:
            said = f"{type(fault).__name__}: {' '.join(str(fault).split())[:160]}"
        print(f"| {name} | {KINDS[name]} | {said} |", flush=True)


if __name__ == "__main__":
    main()
